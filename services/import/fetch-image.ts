import type { IncomingMessage } from 'node:http';
import { type AddressRule, HostRefusedError, requestAllowed } from '../../shared/http/outgoing';
import { RowError } from './item';

export interface FetchOptions extends AddressRule {
  readonly size_bytes_max: number;
  /** Limit for the complete download, including redirects. */
  readonly timeout_ms: number;
  readonly signal?: AbortSignal | undefined;
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
 * Every host, also after a redirect, must resolve to allowed addresses only.
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
  return requestAllowed(url, options, { agent: false, headers: HEADERS, signal }).catch((error: unknown) => {
    throw toFetchError(error);
  });
}

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
  if (error instanceof HostRefusedError)
    return new FetchError(
      error.reason === 'not_public'
        ? `${error.message}; use --allow-private-images to fetch it`
        : error.message,
    );
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof FetchError || code === undefined || LOCAL_CODES.has(code)) return error;
  return new FetchError(`the server cannot be reached (${code})`, { cause: error });
}
