import type { Load } from './load';
import type { Seeded } from './seed';

const pick = <T>(items: readonly T[], n: number): T => items[n % items.length]!;

/** What is asked of the service under load, and of a bare route in its place. */
export function requestsOf(url: string, seeded: Seeded) {
  const read = { authorization: `Bearer ${seeded.public_token}` };
  const write = { authorization: `Bearer ${seeded.secret_token}` };
  let next = 0;
  const body = (): string =>
    JSON.stringify({ title: `Bench ${next++}`, price_currency: 'USD', price_amount: 999 });
  const get = (path: () => string): Load => ({ url, method: 'GET', headers: read, path });
  const post = (headers: Record<string, string>, to = url, path = '/api/publication'): Load => {
    return { url: to, method: 'POST', headers, path: () => path, body };
  };
  const bareGet = (to: string, path: () => string): Load => ({ url: to, method: 'GET', headers: {}, path });
  return {
    byId: get(() => `/api/publication/${pick(seeded.publication_ids, next++)}`),
    page: get(() => `/api/listing/${pick(seeded.listing_ids, next++)}/publications`),
    write: post(write),
    writeAsync: post({ ...write, prefer: 'respond-async' }),
    bareById: (to: string, count: number): Load => bareGet(to, () => `/one/${1 + (next++ % (count - 1))}`),
    barePage: (to: string): Load => bareGet(to, () => '/page'),
    bareAppend: (to: string): Load => post({}, to, '/append'),
  };
}
