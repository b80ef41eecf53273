import { WAIT_MS_MAX } from './wait-for';

/**
 * The global `fetch` with a limit: rejects with the request's method and URL if the response is not complete after
 * `WAIT_MS_MAX`.
 */
const fetchInTime: typeof globalThis.fetch = (input, init = {}) => {
  const deadline = new AbortController();
  AbortSignal.timeout(WAIT_MS_MAX).addEventListener('abort', () => {
    const url = input instanceof Request ? input.url : String(input);
    deadline.abort(new Error(`waited ${WAIT_MS_MAX} ms for the response to ${init.method ?? 'GET'} ${url}`));
  });
  const signal = init.signal ? AbortSignal.any([init.signal, deadline.signal]) : deadline.signal;
  return globalThis.fetch(input, { ...init, signal });
};

export { fetchInTime as fetch };
