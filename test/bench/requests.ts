import type { RequestTemplate } from './load';
import type { Seeded } from './seed';

const pick = <T>(items: readonly T[], n: number): T => items[n % items.length]!;

/** The requests to the service and to the baselines. */
export function requestsOf(url: string, seeded: Seeded) {
  const read = { authorization: `Bearer ${seeded.public_token}` };
  const write = { authorization: `Bearer ${seeded.secret_token}` };
  let next = 0;
  const body = (): string =>
    JSON.stringify({ title: `Bench ${next++}`, price_currency: 'USD', price_amount: 999 });
  const get = (path: () => string): RequestTemplate => ({ url, method: 'GET', headers: read, path });
  const post = (headers: Record<string, string>, to = url, path = '/api/publication'): RequestTemplate => {
    return { url: to, method: 'POST', headers, path: () => path, body };
  };
  const baselineGet = (to: string, path: () => string): RequestTemplate => ({
    url: to,
    method: 'GET',
    headers: {},
    path,
  });
  return {
    byId: get(() => `/api/publication/${pick(seeded.publication_ids, next++)}`),
    page: get(() => `/api/listing/${pick(seeded.listing_ids, next++)}/publications`),
    write: post(write),
    writeAsync: post({ ...write, prefer: 'respond-async' }),
    baselineById: (to: string, count: number): RequestTemplate =>
      baselineGet(to, () => `/one/${1 + (next++ % (count - 1))}`),
    baselinePage: (to: string): RequestTemplate => baselineGet(to, () => '/page'),
    baselineAppend: (to: string): RequestTemplate => post({}, to, '/append'),
  };
}
