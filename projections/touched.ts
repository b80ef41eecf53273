import type { CollectionName } from '../shared/contracts/documents';
import type { RecordedEvent } from '../shared/contracts/envelope';
import { type Decoded, decodedOrNothing } from './decoded';
import type { UnitOfWork } from './unit-of-work';
import type { View } from './views/view';

type Ids = Map<CollectionName, Set<string>>;

/**
 * Reads every document that folding these events may ask for, in two rounds: what the events name, then the listings
 * and stores of what was found. Events that cannot be read name nothing.
 */
export async function loadTouched(unit: UnitOfWork, events: readonly RecordedEvent[]): Promise<void> {
  const named = idsOf(events);
  await Promise.all([...named].map(([collection, ids]) => unit.load(collection, ids)));
  const parents: Ids = new Map();
  for (const collection of ['publications', 'listings'] as const)
    for (const id of named.get(collection) ?? []) {
      const view = unit.read<View>(collection, id);
      add(parents, 'listings', view?.keys.listing_id);
      add(parents, 'stores', view?.keys.store_id);
    }
  await Promise.all([...parents].map(([collection, ids]) => unit.load(collection, ids)));
}

function idsOf(events: readonly RecordedEvent[]): Ids {
  const ids: Ids = new Map();
  for (const event of events) {
    const known = decodedOrNothing(event);
    if (known) addTouched(ids, known);
  }
  return ids;
}

function addTouched(ids: Ids, { category, id, event }: Decoded): void {
  const data = event.data as Readonly<Record<string, unknown>>;
  switch (category) {
    case 'store':
      add(ids, 'stores', id);
      add(ids, 'payment_methods', data.payment_method_id);
      break;
    case 'listing':
      add(ids, 'listings', id);
      add(ids, 'stores', data.store_id);
      break;
    case 'publication':
      add(ids, 'publications', id);
      add(ids, 'listings', data.listing_id);
      add(ids, 'stores', data.store_id);
      break;
    case 'review':
      add(ids, 'reviews', id);
      add(ids, 'publications', data.publication_id);
      break;
    case 'account':
      add(ids, 'accounts', id);
      break;
    case 'api_key':
      add(ids, 'api_keys', id);
      break;
    case 'media':
      break;
  }
}

function add(ids: Ids, collection: CollectionName, id: unknown): void {
  if (typeof id !== 'string') return;
  const set = ids.get(collection);
  if (set) set.add(id);
  else ids.set(collection, new Set([id]));
}
