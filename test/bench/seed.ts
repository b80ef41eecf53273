import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import { createListing } from '../../services/command/listing';
import { createPublication, newPublicationSchema } from '../../services/command/publication';
import { createStore } from '../../services/command/store';
import { newListingBody } from '../../shared/api/requests/writes';
import { parseConfig } from '../../shared/kernel/config';
import type { StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { waitFor } from '../support/wait-for';

export interface Seeded {
  readonly public_token: string;
  readonly secret_token: string;
  readonly store_id: StoreId;
  readonly publication_ids: readonly string[];
  readonly listing_ids: readonly string[];
  /** Size of the response for one publication, so that the baseline sends the same amount. */
  readonly body_bytes: number;
}

const LISTINGS = 10;
const DESCRIPTION = 'A believable description of a product, of the length that shops write. '.repeat(6);

/**
 * Creates a store with `count` publications in ten listings through the command services, with the stores that
 * `settings` name. `tokens` waits until the service has projected them.
 */
export async function seed(
  settings: Readonly<Record<string, string>>,
  count: number,
): Promise<{ tokens(url: string): Promise<Seeded> }> {
  const config = parseConfig({ ...settings, DEMO: 'off' });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
  const deps = { system: realSystem, events: runtime.events };
  let requests = 0;
  const context = () => ({ source: 'cli' as const, request_id: `seed-${++requests}` });
  const { id: account_id } = (await createAccount(deps, context(), { name: 'Bench' })).value;
  const store = await createStore(deps, context(), { account_id }, { name: 'Bench', environment: 'live' });
  const target = { environment: 'live' as const, store_id: store.value.id };
  const key = async (type: 'public' | 'secret') => {
    const grants = { account_id, name: type, type, stores: [store.value.id] };
    return (await createApiKey(deps, context(), grants)).key;
  };
  const keys = { public: await key('public'), secret: await key('secret') };

  const listing_ids: string[] = [];
  for (let i = 0; i < LISTINGS; i++) {
    const input = newListingBody.parse({ name: `Listing ${i}` });
    listing_ids.push((await createListing(deps, context(), target, input)).value.id);
  }
  const publication = async (i: number): Promise<string> => {
    const featured = i % 50 === 0 ? { featured_position: 1 + (i % 100) } : {};
    const place = { listing_id: listing_ids[i % LISTINGS], ...featured };
    const fields = {
      title: `Product ${i}`,
      description: DESCRIPTION,
      price_currency: 'USD',
      price_amount: i,
    };
    const input = newPublicationSchema.parse({ ...fields, ...place });
    return (await createPublication(deps, context(), target, input)).value.id;
  };
  const publication_ids: string[] = [];
  for (let i = 0; i < count; i += 64) {
    const batch = Array.from({ length: Math.min(64, count - i) }, (_, j) => publication(i + j));
    publication_ids.push(...(await Promise.all(batch)));
  }
  await runtime.close();
  const { id: store_id } = store.value;
  return { tokens: (url) => tokens(url, keys, { store_id, publication_ids, listing_ids }) };
}

async function tokens(
  url: string,
  keys: { public: string; secret: string },
  ids: Pick<Seeded, 'store_id' | 'publication_ids' | 'listing_ids'>,
): Promise<Seeded> {
  const token = (key: string): Promise<string> =>
    waitFor(async () => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const body = JSON.stringify({ ttl_minutes: 60 });
      const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers, body });
      return ((await reply.json()) as { data?: { token: string } }).data?.token;
    });
  const [public_token, secret_token] = [await token(keys.public), await token(keys.secret)];
  const headers = { authorization: `Bearer ${public_token}` };
  await waitFor(async () => {
    const reply = await fetch(`${url}/api/publications?limit=1`, { headers });
    const { meta } = (await reply.json()) as { meta?: { item_count?: number } };
    return meta?.item_count === ids.publication_ids.length;
  });
  const sample = await fetch(`${url}/api/publication/${ids.publication_ids[0]}`, { headers });
  const body_bytes = (await sample.text()).length;
  return { public_token, secret_token, ...ids, body_bytes };
}
