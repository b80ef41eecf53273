/** Whether the code runs in a page of a browser. */
function isBrowser(): boolean {
  return 'window' in globalThis && 'document' in globalThis;
}

/** Throws `TypeError` if a secret key would be used in a browser. */
export function assertKeyStaysSecret(api_key: string, dangerously_allow_browser: boolean): void {
  if (dangerously_allow_browser || !api_key.startsWith('sk_') || !isBrowser()) return;
  throw new TypeError(
    'A secret key (sk_) does not belong in a browser: everybody who opens the page can read it and change the ' +
      'catalog. Use a public key (pk_) here, and send writes from your server. If only you can open the page, set ' +
      'dangerouslyAllowBrowser to true.',
  );
}

/**
 * Whether a browser has probably refused a request because of CORS. `fetch` then rejects with a `TypeError` without a
 * reason. It rejects with the same error if the connection failed.
 */
export function isProbablyCors(cause: unknown): boolean {
  return cause instanceof TypeError && isBrowser();
}

/** Explains to a developer why a write failed in a browser. */
export function corsMessage(method: string, url: string): string {
  return (
    `The browser did not complete ${method} ${url}. The service does not allow writes from web pages (CORS), ` +
    'because secret keys are for servers. Send the write to your own server, and from there to the catalog. If a ' +
    'gateway allows writes from this page, check the connection and try again.'
  );
}
