import type { PlannedRequest } from './load-generator';
import type { Seeded } from './seed';

/** Different bodies of writes, used in turn. */
const BODIES = 1_000;

/** The requests to the service and to the baselines, each kind a list that is sent in turn. */
export function requestsOf({ public_token, secret_token, publication_ids, listing_ids }: Seeded) {
  const reads = (paths: readonly string[]): PlannedRequest[] =>
    paths.map((path) => ({ path, headers: { Authorization: `Bearer ${public_token}` } }));
  const writes = (path: string, headers: Readonly<Record<string, string>>): PlannedRequest[] =>
    Array.from({ length: BODIES }, (_, n) => {
      const body = JSON.stringify({ title: `Bench ${n}`, price_currency: 'USD', price_amount: 999 });
      return { method: 'POST', path, headers, body };
    });
  const secret = { Authorization: `Bearer ${secret_token}` };
  return {
    byId: reads(publication_ids.map((id) => `/api/publication/${id}`)),
    page: reads(listing_ids.map((id) => `/api/listing/${id}/publications`)),
    write: writes('/api/publication', secret),
    writeAsync: writes('/api/publication', { ...secret, Prefer: 'respond-async' }),
    baselineById: publication_ids.slice(1).map((_, n): PlannedRequest => ({ path: `/one/${n + 1}` })),
    baselinePage: [{ path: '/page' }] as PlannedRequest[],
    baselineAppend: writes('/append', {}),
  };
}
