import type { FetchOptions } from './options.js';

/**
 * Returns the options of `fetch` for a request: those of the call, and those of the client that the call does not set.
 * `cache` and `next` exclude each other, so a call that sets one of them replaces both. Only a GET gets `cache` and
 * `next`, because a token or the response of a write must not come from a cache.
 */
export function mergeFetchOptions(
  method: string,
  of_client: FetchOptions,
  of_call: FetchOptions,
): FetchOptions {
  const headers = { ...withLowerCaseNames(of_client), ...withLowerCaseNames(of_call) };
  const replaces_caching = of_call.cache !== undefined || of_call.next !== undefined;
  const defaults = replaces_caching ? withoutCaching(of_client) : of_client;
  const merged = { ...defaults, ...of_call, headers };
  return method === 'GET' ? merged : withoutCaching(merged);
}

const withoutCaching = ({ cache, next, ...others }: FetchOptions): FetchOptions => others;

const withLowerCaseNames = ({ headers }: FetchOptions): Record<string, string> =>
  Object.fromEntries(new Headers(headers));
