import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEventStore } from '../../../services/boot/open-adapters';
import { createAccount } from '../../../services/command/account';
import { createApiKey } from '../../../services/command/api-key';
import { createListing } from '../../../services/command/listing';
import { createStore } from '../../../services/command/store';
import { newListingBody } from '../../../shared/api/requests/writes';
import { encodeEvent } from '../../../shared/catalog/events/codec';
import { type EncodedEvent, streamName } from '../../../shared/catalog/events/envelope';
import { type PublicationEvent, publicationAggregate } from '../../../shared/catalog/publication/publication';
import type { Environment } from '../../../shared/catalog/realm';
import { parseConfig } from '../../../shared/kernel/config';
import {
  type AccountId,
  deriveId,
  type ListingId,
  type PublicationId,
  type StoreId,
} from '../../../shared/kernel/ids';
import { type System, timestamp } from '../../../shared/kernel/system';
import { type EventStore, NO_STREAM } from '../../../shared/ports/event-store';
import { ListingPicker, productAt } from './product';
import { integer, type Random, randomFrom } from './random';

/** A store of a catalog, and what is needed to know its products without reading it. */
export interface CatalogStore {
  readonly id: StoreId;
  readonly seed: number;
  readonly size: number;
  readonly listing_ids: readonly ListingId[];
}

/** A generated catalog. Stored as `catalog.json` in its data folder. */
export interface Catalog {
  readonly main: CatalogStore;
  /** Stores for traffic besides the main store's. */
  readonly small: readonly CatalogStore[];
  /** A store without products, for the writes of a measurement. */
  readonly writes: CatalogStore;
  /** A key of all stores, the main store first. */
  readonly secret_key: string;
  /** Keys of the main store, as many shops would have. */
  readonly public_keys: readonly string[];
  /** A public key of each small store. */
  readonly small_keys: readonly string[];
}

/** Changes whenever the generator makes another catalog from the same size. */
const GENERATOR_VERSION = 1;
const FILE = 'catalog.json';
const SEED = 20_260_101;
const STARTED_MS = Date.UTC(2025, 0, 1);
const LISTINGS = 40;
const SMALL_STORES = 4;
const SMALL_SIZE = 50;
const PUBLIC_KEYS = 50;
/** Appends per turn of the event loop, which share one transaction. */
const BATCH = 1_000;
/** One publication in so many has its price changed after its creation. */
const REPRICED = 10;

/** Returns the id of a store's product. Its time is that of its creation. */
export function publicationIdAt({ seed }: CatalogStore, index: number): PublicationId {
  return deriveId(createdAtMs(index), 'product', String(seed), String(index));
}

/** One product per 250 ms: a million take three days. */
const createdAtMs = (index: number): number => STARTED_MS + 86_400_000 + 250 * index;

/** Returns the catalog of a data folder, undefined if it has none of this size from this generator. */
export function readCatalog(folder: string, size: number): Catalog | undefined {
  try {
    const stored = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as Catalog & { version: number };
    return stored.version === GENERATOR_VERSION && stored.main.size === size ? stored : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes the logs of a catalog into an empty data folder, with the events that the commands would append. Creates no
 * documents: the service makes them when it starts. The same size gives the same catalog.
 */
export async function writeCatalog(
  folder: string,
  size: number,
  onProgress: (written: number) => void = () => {},
): Promise<Catalog> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const config = parseConfig({ DATA_DIR: folder, DEMO: 'off' });
  const control = await openEventStore(config, 'control');
  const live = await openEventStore(config, 'live');
  const test = await openEventStore(config, 'test');
  try {
    const writer = new CatalogWriter({ control, live, test });
    const account_id = await writer.account();
    const main = await writer.store(account_id, 'Main', SEED, size);
    const small: CatalogStore[] = [];
    for (let n = 1; n <= SMALL_STORES; n++)
      small.push(await writer.store(account_id, `Small ${n}`, SEED + n, SMALL_SIZE));
    const writes = await writer.store(account_id, 'Writes', SEED - 1, 0);
    const stores = [main, ...small, writes];
    const secret_key = await writer.key(account_id, 'secret', stores);
    const public_keys: string[] = [];
    for (let n = 0; n < PUBLIC_KEYS; n++) public_keys.push(await writer.key(account_id, 'public', [main]));
    const small_keys: string[] = [];
    for (const store of small) small_keys.push(await writer.key(account_id, 'public', [store]));
    for (const store of [...small, main]) await writeProducts(live, account_id, store, onProgress);
    const catalog = { main, small, writes, secret_key, public_keys, small_keys };
    writeFileSync(join(folder, FILE), JSON.stringify({ version: GENERATOR_VERSION, ...catalog }, null, 2));
    return catalog;
  } finally {
    for (const log of [control, live, test]) await log.close();
  }
}

/** Writes accounts, stores, listings and keys with the command services, at a clock and with random bytes of its own. */
class CatalogWriter {
  private readonly deps: { system: System; events: Record<Environment | 'control', EventStore> };
  private requests = 0;

  constructor(events: Record<Environment | 'control', EventStore>) {
    this.deps = { system: systemFrom(randomFrom(SEED)), events };
  }

  private context() {
    return { source: 'cli', request_id: `bench-${++this.requests}` } as const;
  }

  async account(): Promise<AccountId> {
    return (await createAccount(this.deps, this.context(), { name: 'Bench' })).value.id;
  }

  async store(account_id: AccountId, name: string, seed: number, size: number): Promise<CatalogStore> {
    const input = { name, environment: 'live' } as const;
    const store = await createStore(this.deps, this.context(), { account_id }, input);
    const target = { environment: 'live', store_id: store.value.id } as const;
    const listing_ids: ListingId[] = [];
    for (let n = 1; n <= LISTINGS; n++) {
      const listing = newListingBody.parse({ name: `${name} ${n}`, description: `Products of kind ${n}.` });
      listing_ids.push((await createListing(this.deps, this.context(), target, listing)).value.id);
    }
    return { id: store.value.id, seed, size, listing_ids };
  }

  async key(
    account_id: AccountId,
    type: 'public' | 'secret',
    stores: readonly CatalogStore[],
  ): Promise<string> {
    const grants = { account_id, name: type, type, stores: stores.map(({ id }) => id) };
    return (await createApiKey(this.deps, this.context(), grants)).key;
  }
}

/** A clock that moves by a millisecond each time it is read, and random bytes from a seed. */
function systemFrom(random: Random): System {
  let now_ms = STARTED_MS;
  return {
    now: () => ++now_ms,
    random: (size) => Uint8Array.from({ length: size }, () => integer(random, 0, 255)),
  };
}

async function writeProducts(
  live: EventStore,
  account_id: AccountId,
  store: CatalogStore,
  onProgress: (written: number) => void,
): Promise<void> {
  const listings = new ListingPicker(store.listing_ids);
  for (let from = 0; from < store.size; from += BATCH) {
    const indexes = Array.from({ length: Math.min(BATCH, store.size - from) }, (_, n) => from + n);
    await Promise.all(indexes.map((index) => appendProduct(live, account_id, store, index, listings)));
    const repriced = indexes.filter((index) => index % REPRICED === 0);
    await Promise.all(repriced.map((index) => appendPrice(live, account_id, store, index, listings)));
    onProgress(from + indexes.length);
  }
}

type Append = [
  live: EventStore,
  account_id: AccountId,
  store: CatalogStore,
  index: number,
  listings: ListingPicker,
];

async function appendProduct(...[live, account_id, store, index, listings]: Append): Promise<void> {
  const input = productAt(store.seed, index, listings);
  const decision = publicationAggregate.decide(
    { tag: 'absent' },
    { type: 'Create', store_id: store.id, input },
  );
  if (!decision.ok) throw new Error(`the product was rejected: ${decision.condition}`);
  await append(live, account_id, store, index, NO_STREAM, decision.events);
}

async function appendPrice(...[live, account_id, store, index, listings]: Append): Promise<void> {
  const { price_currency, price_amount, price_active = true } = productAt(store.seed, index, listings);
  const data = { price_currency, price_amount: price_amount + 100, price_active };
  await append(live, account_id, store, index, 0, [{ type: 'PublicationPriced', data }]);
}

async function append(
  live: EventStore,
  account_id: AccountId,
  store: CatalogStore,
  index: number,
  revision: number,
  events: readonly PublicationEvent[],
): Promise<void> {
  const id = publicationIdAt(store, index);
  const stream = streamName('live', 'publication', id);
  const encoded = events.map((event, n): EncodedEvent => {
    const at_ms = createdAtMs(index) + (revision === NO_STREAM ? 0 : BATCH * 250);
    const request_id = deriveId(at_ms, 'request', id);
    const metadata: EncodedEvent['metadata'] = {
      occurred_at: timestamp(at_ms),
      partition_key: store.id,
      source: 'import',
      request_id,
      store_id: store.id,
      account_id,
    };
    return { id: deriveId(0, stream, String(revision + 1 + n)), ...encodeEvent(event), metadata };
  });
  const result = await live.append(stream, revision, encoded);
  if (result.outcome !== 'appended') throw new Error(`the data folder is not empty: ${stream} exists`);
}
