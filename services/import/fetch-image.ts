import type { LookupAddress } from 'node:dns';
import { lookup as resolveName } from 'node:dns/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface FetchOptions {
  /** Addresses that are not on the public internet, too: an import's file says what is asked of whom. */
  readonly allow_private: boolean;
  readonly size_bytes_max: number;
  /** For the whole of it, redirects included. */
  readonly timeout_ms: number;
  readonly signal?: AbortSignal | undefined;
  /** The system's resolver by default. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
  /** What may be connected to unless private addresses may; `isPublicAddress` by default. */
  readonly is_public?: (address: string) => boolean;
}

/** Why an image could not be had; its text is for the operator. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
}

const REDIRECTS_MAX = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADERS = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'catalog-service' };

/**
 * Gets an image and gives its bytes to `use` as they come. Every name, redirects' too, must lead to public addresses
 * alone, and what was looked at is what is connected to, so that a file cannot make this machine ask its own network.
 * Throws `FetchError`, and what `use` throws.
 */
export async function fetchImage<Result>(
  address: string,
  options: FetchOptions,
  use: (bytes: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const late = AbortSignal.timeout(options.timeout_ms);
  const signal = options.signal ? AbortSignal.any([late, options.signal]) : late;
  try {
    const response = await follow(address, options, signal);
    try {
      return await use(bytesOf(response, options.size_bytes_max, signal));
    } finally {
      response.destroy();
    }
  } catch (error) {
    if (late.aborted && error instanceof FetchError)
      throw new FetchError(`took longer than ${Math.round(options.timeout_ms / 1000)} s`);
    throw error;
  }
}

async function follow(address: string, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  let url = parseAddress(address);
  for (let redirects = 0; ; redirects++) {
    const response = await ask(url, options, signal);
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (!REDIRECTS.has(statusCode) || headers.location === undefined)
      throw new FetchError(`answered ${statusCode}`);
    if (redirects === REDIRECTS_MAX) throw new FetchError(`redirects more than ${REDIRECTS_MAX} times`);
    url = parseAddress(headers.location, url.href);
  }
}

function parseAddress(address: string, base?: string): URL {
  if (!URL.canParse(address, base)) throw new FetchError('is no address');
  const url = new URL(address, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new FetchError('is neither http nor https');
  if (url.username !== '' || url.password !== '') throw new FetchError('has a name or password in it');
  return url;
}

function ask(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const lookup = lookupOf(options);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(error instanceof FetchError ? error : new FetchError(describe(error), { cause: error }));
    // An address in the place of a name is connected to without being looked up.
    const literal = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(literal) && !mayConnect(literal, options)) return fail(notPublic());
    request(url, { agent: false, headers: HEADERS, lookup, signal }, resolve).on('error', fail).end();
  });
}

/** Fails unless every address of the name may be connected to: which of them is taken is not ours to say. */
function lookupOf(options: FetchOptions): LookupFunction {
  const resolve = options.resolve ?? ((host: string) => resolveName(host, { all: true }));
  return (host, { all }, done) => {
    const check = async (): Promise<readonly LookupAddress[]> => {
      const found = await resolve(host);
      if (found.length === 0) throw new FetchError(`${host} has no address`);
      if (!found.every(({ address }) => mayConnect(address, options))) throw notPublic();
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
const notPublic = (): FetchError => new FetchError('leads to an address that is not public');

async function* bytesOf(
  response: IncomingMessage,
  size_bytes_max: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const tooLarge = (): FetchError => new FetchError(`is larger than ${size_bytes_max} bytes`);
  if (Number(response.headers['content-length'] ?? 0) > size_bytes_max) throw tooLarge();
  let size_bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size_bytes += chunk.length;
      if (size_bytes > size_bytes_max) throw tooLarge();
      yield chunk;
    }
  } catch (error) {
    throw error instanceof FetchError ? error : new FetchError(describe(error), { cause: error });
  }
  if (signal.aborted) throw new FetchError('was stopped');
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return `cannot be reached (${code ?? message})`;
}

/** What is given to hosts (RFC 4291 §2.4); addresses that stand for IPv4 ones (NAT64, mapped) lie outside. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Returns whether an address, as text, is one on the public internet, by IANA's registries of special addresses. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}
