import { randomUUID } from 'node:crypto';
import { readLog } from '../../projections/engine/read-log';
import type { KeyLimits } from '../../shared/catalog/api-key/api-key';
import { START } from '../../shared/catalog/events/envelope';
import { REALMS } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { KeyType } from '../../shared/catalog/vocabulary';
import type { Config } from '../../shared/kernel/config';
import {
  type AccountId,
  generateId,
  type ListingId,
  type PublicationId,
  type StoreId,
} from '../../shared/kernel/ids';
import type { EventStore } from '../../shared/ports/event-store';
import { createAccount } from '../command/account';
import { createApiKey } from '../command/api-key';
import type { ControlDeps, WriteContext } from '../command/execute';
import { findStore } from '../command/store';
import { listingIdOf, publicationIdOf } from '../import/identity';
import type { ImportItem } from '../import/item';
import { runImport } from '../import/run';
import { type ImportDeps, writerTo } from '../import/writer';
import { liveItems, testItems } from './catalog';
import { type Demo, DemoFiles, type PendingDemo } from './files';
import { makeStore } from './stores';

export type DemoDeps = ControlDeps & ImportDeps;

export interface ReadyDemo {
  readonly demo: Demo;
  /** Whether this start created or completed the demo. */
  readonly is_new: boolean;
  /** The listing and publication that the printed requests read. */
  readonly listing_id: ListingId;
  readonly publication_id: PublicationId;
}

const IN_EXAMPLES = { listing: 'Cerámica', publication: 'taza-amancay' };

/**
 * Creates the demo if there are no events yet: an account with a live and a test store, four keys, a catalog, and
 * `DATA_DIR/demo.json` with the keys. Completes a demo whose creation was interrupted. Returns undefined with
 * `DEMO=off`, or if there are events and no demo. Writes through the command services, like an API client.
 */
export async function ensureDemo(deps: DemoDeps, config: Config): Promise<ReadyDemo | undefined> {
  if (config.DEMO === 'off') return undefined;
  const files = new DemoFiles(config.DATA_DIR);
  const empty = await isEmpty(deps);
  const existing = empty ? undefined : await files.readDemo();
  if (existing) return describeDemo(deps, existing, false);
  const pending = (await files.readPending()) ?? (empty ? newDemo(deps) : undefined);
  if (!pending) return undefined;
  return describeDemo(deps, await makeDemo(deps, files, pending), true);
}

async function isEmpty(deps: DemoDeps): Promise<boolean> {
  const realms = await Promise.all(REALMS.map((realm) => hasEvents(deps.events[realm])));
  return !realms.includes(true);
}

/** Reads the log, because the head is not enough: on a server it may be the position of another realm's event. */
async function hasEvents(events: EventStore): Promise<boolean> {
  const to = await events.head();
  for await (const batch of readLog(events, { after: START, to, batch_size: 1 }))
    if (batch.events.length > 0) return true;
  return false;
}

function newDemo({ system }: DemoDeps): PendingDemo {
  const id = (): string => generateId(system.now(), system.random);
  return { account_id: id(), store_id: id(), test_store_id: id() };
}

async function makeDemo(deps: DemoDeps, files: DemoFiles, pending: PendingDemo): Promise<Demo> {
  const context: WriteContext = { source: 'system', request_id: randomUUID() };
  await files.writePending(pending);
  const account_id = pending.account_id as AccountId;
  await createAccount(deps, context, { id: account_id, name: 'Demo' });
  const live = await makeStore(deps, context, 'live', { account_id, id: pending.store_id as StoreId });
  const test = await makeStore(deps, context, 'test', { account_id, id: pending.test_store_id as StoreId });
  await importDemo(deps, context, live, liveItems());
  await importDemo(deps, context, test, testItems());
  const demo = await makeKeys(deps, context, pending);
  await files.finish(demo);
  return demo;
}

/**
 * Imports the listings before the products. In a single import, a product may create its listing with only a name before the
 * row of the listing is written, so that two demos would have different events.
 */
async function importDemo(
  deps: DemoDeps,
  context: WriteContext,
  store: Store,
  items: readonly ImportItem[],
): Promise<void> {
  const listings = items.filter(({ kind }) => kind === 'listing');
  const others = items.filter(({ kind }) => kind !== 'listing');
  for (const part of [listings, others]) {
    const writer = writerTo(deps, context, { environment: store.environment, store_id: store.id });
    const steps = async function* () {
      for (const item of part) yield [item];
    };
    const report = await runImport(
      { total: part.length, items: steps },
      { store, writer, findListing: async () => undefined, dry_run: false },
    );
    const fault = report.failed[0];
    if (fault) throw new Error(`invalid demo catalog: ${fault.external_id}: ${fault.reason}`);
  }
}

/** Limits that visitors of the demo do not reach, although all of them share one key. */
const SHOP_LIMITS: KeyLimits = { per_minute: 1_000_000, per_day: 100_000_000, burst: 1_000_000 };

/** Creates the keys. If the process stops before they are in `demo.json`, the keys are lost, and the next start creates others. */
async function makeKeys(deps: DemoDeps, context: WriteContext, pending: PendingDemo): Promise<Demo> {
  const { account_id, store_id, test_store_id } = pending;
  const keyOf = async (type: KeyType, store: string, name: string, limits?: KeyLimits): Promise<string> =>
    (await createApiKey(deps, context, { account_id, name, type, stores: [store], limits })).key;
  return {
    store_id,
    public_key: await keyOf('public', store_id, 'Demo storefront', SHOP_LIMITS),
    secret_key: await keyOf('secret', store_id, 'Demo back office'),
    test_store_id,
    test_public_key: await keyOf('public', test_store_id, 'Demo storefront, test'),
    test_secret_key: await keyOf('secret', test_store_id, 'Demo back office, test'),
  };
}

async function describeDemo(deps: DemoDeps, demo: Demo, is_new: boolean): Promise<ReadyDemo | undefined> {
  const store = await findStore(deps, { environment: 'live', id: demo.store_id as StoreId });
  if (!store) return undefined;
  const listing_id = listingIdOf(store, IN_EXAMPLES.listing, 1);
  const publication_id = publicationIdOf(store, IN_EXAMPLES.publication, 1);
  return { demo, is_new, listing_id, publication_id };
}
