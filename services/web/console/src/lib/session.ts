import { CatalogApiError, type Token } from 'catalog-client';

export type SessionStatus = 'starting' | 'signed_out' | 'signed_in' | 'ended';

const PATH = '/console/session';
/** Tells the other windows of this browser. */
const channel = new BroadcastChannel('catalog-console');

let status: SessionStatus = 'starting';
const listeners = new Set<() => void>();

function setStatus(next: SessionStatus): void {
  if (status === next) return;
  status = next;
  for (const listener of [...listeners]) listener();
}

export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
export const readStatus = (): SessionStatus => status;

/** Returns null if there is no session. */
async function post(path: string, body?: object): Promise<Token | null> {
  const answer = await fetch(PATH + path, {
    method: 'POST',
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const json: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) throw new CatalogApiError(answer.status, answer.headers, json);
  return (json as { data: Token | null }).data;
}

/** Finds out whether this browser has a session. */
export async function start(): Promise<void> {
  setStatus((await post('/token')) ? 'signed_in' : 'signed_out');
}

/**
 * Returns a token of the session. While the session has ended, waits until the merchant signs in again: a request that needs
 * the token is then sent, and nothing that was typed is lost.
 */
export async function getToken(): Promise<Token> {
  for (;;) {
    const token = await post('/token');
    if (token) return token;
    setStatus('ended');
    await signedIn();
  }
}

const signedIn = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = subscribe(() => {
      if (status !== 'signed_in') return;
      stop();
      resolve();
    });
  });

/** Begins a session. Rejects with `CatalogApiError` if the key is refused. */
export async function signIn(key: string): Promise<void> {
  await post('', { key });
  channel.postMessage('signed_in');
  setStatus('signed_in');
}

/** Ends the session in all windows. */
export async function signOut(): Promise<void> {
  await post('/end');
  channel.postMessage('signed_out');
  location.assign('/console');
}

channel.addEventListener('message', ({ data }) => {
  if (data === 'signed_out') location.assign('/console');
  else if (status === 'ended' || status === 'signed_out') setStatus('signed_in');
});
