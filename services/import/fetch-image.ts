import type { LookupAddress } from 'node:dns';
import { lookup as resolveName } from 'node:dns/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { socketHost } from '../../shared/kernel/server-url';
import { RowError } from './item';

export interface FetchOptions {
  /** Whether to connect to addresses that are not on the public internet. */
  readonly allow_private: boolean;
  readonly size_bytes_max: number;
  /** Limit for the complete download, including redirects. */
  readonly timeout_ms: number;
  readonly signal?: AbortSignal | undefined;
  /** Resolves a host name. Default: the resolver of the operating system. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
  /** Decides whether an address is public. Default: `isPublicAddress`. */
  readonly is_public?: (address: string) => boolean;
}

/** Thrown if an image cannot be fetched. The report of the import prints the message. */
export class FetchError extends RowError {
  override readonly name = 'FetchError';
}

const REDIRECTS_MAX = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADERS = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'catalog-service' };

/**
 * Fetches an image and streams its bytes to `use`. Throws `FetchError`, and whatever `use` throws.
 *
 * Every host, also after a redirect, must resolve to public addresses only. The connection uses these addresses and does
 * not resolve the host again. Otherwise an import file could send requests into this machine's private network (SSRF).
 */
export async function fetchImage<Result>(
  address: string,
  options: FetchOptions,
  use: (bytes: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const timeout = AbortSignal.timeout(options.timeout_ms);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
  try {
    const response = await followRedirects(address, options, signal);
    try {
      return await use(readBytes(response, options.size_bytes_max, signal));
    } finally {
      response.destroy();
    }
  } catch (error) {
    if (timeout.aborted && error instanceof FetchError)
      throw new FetchError(`timed out after ${Math.round(options.timeout_ms / 1000)} s`);
    throw error;
  }
}

async function followRedirects(
  address: string,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let url = parseAddress(address);
  for (let redirects = 0; ; redirects++) {
    const response = await request(url, options, signal);
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (!REDIRECTS.has(statusCode) || headers.location === undefined)
      throw new FetchError(`the server responded with status ${statusCode}`);
    if (redirects === REDIRECTS_MAX) throw new FetchError(`more than ${REDIRECTS_MAX} redirects`);
    url = parseAddress(headers.location, url.href);
  }
}

function parseAddress(address: string, base?: string): URL {
  if (!URL.canParse(address, base)) throw new FetchError('invalid URL');
  const url = new URL(address, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new FetchError('the URL must begin with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new FetchError('the URL must not contain a user name or password');
  return url;
}

function request(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const lookup = checkedLookup(options);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(toFetchError(error));
    // Node does not call `lookup` for an IP address, so it is checked here.
    const literal = socketHost(url.hostname);
    if (isIP(literal) && !mayConnect(literal, options)) return fail(notPublicError());
    send(url, { agent: false, headers: HEADERS, lookup, signal }, resolve).on('error', fail).end();
  });
}

/** Returns a look-up function. It fails unless every address of the host is allowed, because Node may use any of them. */
function checkedLookup(options: FetchOptions): LookupFunction {
  const resolve = options.resolve ?? ((host: string) => resolveName(host, { all: true }));
  return (host, { all }, done) => {
    const check = async (): Promise<readonly LookupAddress[]> => {
      const found = await resolve(host);
      if (found.length === 0) throw new FetchError(`host ${host} has no address`);
      if (!found.every(({ address }) => mayConnect(address, options))) throw notPublicError();
      return found;
    };
    check().then(
      (found) => (all ? done(null, [...found]) : done(null, found[0]!.address, found[0]!.family)),
      (error: NodeJS.ErrnoException) => done(error, ''),
    );
  };
}

const mayConnect = (address: string, options: FetchOptions): boolean =>
  options.allow_private || (options.is_public ?? isPublicAddress)(address);
const notPublicError = (): FetchError =>
  new FetchError('the address is not public; use --allow-private-images to fetch it');

async function* readBytes(
  response: IncomingMessage,
  size_bytes_max: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const tooLargeError = (): FetchError => new FetchError(`larger than ${size_bytes_max} bytes`);
  if (Number(response.headers['content-length'] ?? 0) > size_bytes_max) throw tooLargeError();
  let size_bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size_bytes += chunk.length;
      if (size_bytes > size_bytes_max) throw tooLargeError();
      yield chunk;
    }
  } catch (error) {
    throw toFetchError(error);
  }
  if (signal.aborted) throw new FetchError('the download was aborted');
}

/** Codes of errors of this machine: no file descriptor, memory or port is left. A later fetch may succeed. */
const LOCAL_CODES = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']);

/** Converts an error with a code, that is, of the network or TLS, to a `FetchError`. Returns other errors unchanged. */
function toFetchError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof FetchError || code === undefined || LOCAL_CODES.has(code)) return error;
  return new FetchError(`the server cannot be reached (${code})`, { cause: error });
}

/** Global unicast addresses (RFC 4291 §2.4). Excludes addresses that contain an IPv4 address (NAT64, IPv4-mapped). */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Returns whether an IP address is on the public internet, by the IANA registries of special-purpose addresses. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}
