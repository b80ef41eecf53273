import { WAIT_MS_MAX } from './wait-for';

/**
 * The global `fetch` with a limit: rejects with the request's method and URL if the response is not complete after
 * `WAIT_MS_MAX`.
 */
const fetchInTime: typeof globalThis.fetch = (input, init = {}) => {
  const url = input instanceof Request ? input.url : String(input);
  const deadline = limitOf(`${init.method ?? 'GET'} ${url}`);
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  return globalThis.fetch(input, { ...init, signal });
};

/** A function of its own, because its timer outlives the request, and must not keep the request's body in memory. */
function limitOf(request: string): AbortSignal {
  const deadline = new AbortController();
  AbortSignal.timeout(WAIT_MS_MAX).addEventListener('abort', () =>
    deadline.abort(new Error(`waited ${WAIT_MS_MAX} ms for the response to ${request}`)),
  );
  return deadline.signal;
}

export { fetchInTime as fetch };
