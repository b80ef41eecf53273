import type { FetchOptions } from './options';

/**
 * Returns the options of `fetch` for a request: those of its call, and else those of the client. `cache` and `next` exclude
 * each other, so a call that sets one replaces both. Only a GET has them: a token or the response of a write must not come
 * from a cache.
 */
export function mergeFetchOptions(
  method: string,
  of_client: FetchOptions,
  of_call: FetchOptions,
): FetchOptions {
  const headers = { ...withLowerCaseNames(of_client), ...withLowerCaseNames(of_call) };
  const caches_itself = of_call.cache !== undefined || of_call.next !== undefined;
  const below = caches_itself ? withoutCaching(of_client) : of_client;
  const merged = { ...below, ...of_call, headers };
  return method === 'GET' ? merged : withoutCaching(merged);
}

const withoutCaching = ({ cache, next, ...others }: FetchOptions): FetchOptions => others;

const withLowerCaseNames = ({ headers }: FetchOptions): Record<string, string> =>
  Object.fromEntries(new Headers(headers));
