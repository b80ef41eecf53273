/*
 * The form of a server's URL: scheme://[user[:password]@]host[:port][,host[:port]…][/path][?options]
 *
 * A regular expression checks it, because `URL` rejects the several hosts of a cluster. Special characters in a user or
 * password must be percent-encoded. An `@` behind the hosts could then only be the end of a password with a `/` or `?`
 * that is not encoded, if a host follows it. So there is none, except around the whole value of an option
 * (`appName=@shop@`, as portals of clouds write it) in a URL with a user: no host can follow either of these two. The
 * password therefore ends at the first `@`, so that `hidePassword` hides all of it, and no part of a password is taken for
 * a port, a path or an option.
 */
const ENCODED = String.raw`(?:[^\s:@/?#%]|%[\da-fA-F]{2})*`;
const USER = `${ENCODED}(?::${ENCODED})?@`;
const HOST = String.raw`(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?`;
const PATH = String.raw`(?:/[^\s?#@]*)?`;
const OPTIONS = String.raw`(?:\?[^\s#@]*)?`;
const OPTIONS_AFTER_USER = String.raw`(?:\?(?:[^\s#@]|(?<==)@[\w.-]*@(?=&|$))*)?`;

/** Returns the pattern of a URL with one of these schemes. */
export function urlPattern(schemes: readonly string[]): RegExp {
  const names = schemes.map((scheme) => scheme.replace('+', '\\+')).join('|');
  const hosts = `${HOST}(?:,${HOST})*${PATH}`;
  return new RegExp(`^(?:${names})://(?:${hosts}${OPTIONS}|${USER}${hosts}${OPTIONS_AFTER_USER})$`);
}

/** The parts of a URL that matches `urlPattern`. */
export interface ServerUrl {
  readonly scheme: string;
  /** Decoded. Undefined if the URL has none. */
  readonly user: { readonly username: string; readonly password: string } | undefined;
  /** The port is undefined if the URL has none. The address of an IPv6 host has its brackets. */
  readonly hosts: readonly { readonly address: string; readonly port: number | undefined }[];
  /** The path without its first `/`, not decoded. Empty if the URL has no path. */
  readonly path: string;
  /** Names and decoded values, in order. */
  readonly options: readonly (readonly [name: string, value: string])[];
}

/** Returns the host as sockets take it: an IPv6 address without its brackets. */
export const socketHost = (address: string): string => address.replace(/^\[|\]$/g, '');

/** Splits a URL that matches `urlPattern`. Throws `URIError` if an option has an invalid percent-encoding. */
export function splitUrl(url: string): ServerUrl {
  const parts =
    /^([^:]+):\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url) ?? [];
  const [, scheme = '', username, password = '', hosts = '', path = '', query = ''] = parts;
  return {
    scheme,
    user:
      username === undefined
        ? undefined
        : { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    hosts: hosts.split(',').map((host) => {
      const [, address = '', port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
      return { address, port: port === undefined ? undefined : Number(port) };
    }),
    path,
    options: query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const [name = '', ...value] = pair.split('=');
        return [name, decodeURIComponent(value.join('='))] as const;
      }),
  };
}

const PASSWORD = /(:\/\/[^:@/?#]*):[^@/?#]*@/;
const SECRET_OPTION = /([?&][^=&]*(?:password|token|secret|properties)[^=&]*=)[^&]*/gi;

/** Replaces the password of a URL, and the values of URL options that are secret. */
export function hidePassword<Url extends string | undefined>(url: Url): Url | string {
  if (url === undefined) return url;
  return url.replace(PASSWORD, '$1:(hidden)@').replace(SECRET_OPTION, '$1(hidden)');
}

/** Replaces the address of a service that listens on all addresses, as in a container. A client cannot use that one. */
export function localUrl(url: string): string {
  return url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, '//127.0.0.1');
}
