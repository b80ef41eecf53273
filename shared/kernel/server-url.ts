import { z } from 'zod';

/*
 * scheme://[user[:password]@]host[:port][,host[:port]…][/path][?options]
 * Several hosts are a cluster's; `URL` refuses them, so the parts are named here. What is special in a URL must be
 * percent-encoded in a user or password: the password then ends at the first `@`, and hiding it hides all of it.
 */
const USER = String.raw`(?:[^\s:@/?#,]*(?::[^\s:@/?#]*)?@)?`;
const HOST = String.raw`(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?`;
const REST = String.raw`(?:/[^\s?#]*)?(?:\?[^\s#]*)?`;

/** An address of a server. What is refused is never repeated in the message: there may be a password in it. */
export function serverUrl(schemes: readonly string[], example: string) {
  const names = schemes.map((scheme) => scheme.replace('+', '\\+')).join('|');
  const whole = new RegExp(`^(?:${names})://${USER}${HOST}(?:,${HOST})*${REST}$`);
  const text = `an address such as ${example} (a password's special characters as %XX)`;
  return z.string().regex(whole, text);
}

const PASSWORD = /(:\/\/[^:@/?#]*):[^@/?#]*@/;
const SECRET_OPTION = /([?&][^=&]*(?:password|token|secret|properties)[^=&]*=)[^&]*/gi;

/** For people to read; the options that carry passwords are hidden as well. */
export function hidePassword<Url extends string | undefined>(url: Url): Url | string {
  if (url === undefined) return url;
  return url.replace(PASSWORD, '$1:(hidden)@').replace(SECRET_OPTION, '$1(hidden)');
}
