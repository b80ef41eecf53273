import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import type { ViewQuery } from '../../shared/ports/view-store';
import type { EmbedsOne, ReverseIndex } from '../views/relation';
import type { AnyDocument, Known } from '../views/view';
import { decodedOrNothing } from './decoded';
import { LostRaceError } from './errors';
import { embedInto, foldedBy } from './fold';
import { loadUsers } from './load';
import { plans, viewsOf } from './plan';
import { shownOf, withOne } from './related';
import { userOf, whereUsed } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';

/**
 * A change of a document that is brought into all that embed it before the document itself changes, chunk by chunk.
 * Doing it again, or a part of it, changes nothing more: an embed gives way only to a newer one.
 */
export interface Sweep {
  readonly collection: CollectionName;
  readonly id: string;
  /** As the events leave it; null where they delete it. */
  readonly document: Known<AnyDocument>;
  /** Positions of the first and the last event that it stands for. */
  readonly first: Position;
  readonly last: Position;
  /** How many events at the head of those looked at it stands for: a patch writes several at once. */
  readonly length: number;
  readonly embeddedOnce: readonly EmbedsOne[];
  /** Where it is crowded: the reverse indexes that say what embeds it. */
  readonly indexes: readonly ReverseIndex[];
  readonly store_id: string | null;
}

const CHUNK = 500;

/** A patch gives a few events; a longer run of one document's events is swept in parts. */
const LENGTH_MAX = 16;

/** The sweep that the event at `index` calls for, taken together with those of the same stream right behind it. */
export function sweepFor(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  index: number,
): Sweep | undefined {
  const decoded = decodedOrNothing(events[index]!);
  const view = decoded && viewsOf(decoded.category)[0];
  if (!decoded || !view) return undefined;
  const { category, id } = decoded;
  const { collection } = view;
  const before = unit.read(collection, id);
  const embeddedOnce = before
    ? plans[collection].embeddedOnce.filter((relation) => relation.embeddedIn(before) > 0)
    : [];
  const indexes = unit.isCrowded(id)
    ? [...new Set(plans[collection].embeddedMany.map((relation) => relation.index))]
    : [];
  if (embeddedOnce.length === 0 && indexes.length === 0) return undefined;

  let document = before;
  let length = 0;
  for (const recorded of events.slice(index, index + LENGTH_MAX)) {
    const next = decodedOrNothing(recorded);
    if (next?.category !== category || next.id !== id) break;
    document = foldedBy(view, document, recorded, next);
    length++;
  }
  if (document === before) return undefined;
  const store_id = (document ?? before)?.keys.store_id ?? null;
  return {
    ...{ collection, id, document, length, embeddedOnce, indexes },
    first: events[index]!.position,
    last: events[index + length - 1]!.position,
    store_id: store_id === null ? null : String(store_id),
  };
}

/** Folds a chunk in a fresh unit of work and writes it. `guarded`: the chunk also changes parents. */
export type InChunk = (
  guarded: boolean,
  fold: (unit: UnitOfWork) => Promise<StoredDocument[]>,
) => Promise<StoredDocument[]>;

export async function sweep(swept: Sweep, inChunk: InChunk): Promise<void> {
  for (const relation of swept.embeddedOnce)
    await inChunks(async (page) => inChunk(false, (unit) => embedOnce(unit, relation, swept, page)));
  for (const index of swept.indexes)
    await inChunks(async (page) => inChunk(true, (unit) => embedInUsers(unit, index, swept, page)));
}

type Page = { readonly after_id?: string; readonly limit: number };

async function inChunks(next: (page: Page) => Promise<StoredDocument[]>): Promise<void> {
  for (let after_id: string | undefined; ; ) {
    const chunk = await next({ limit: CHUNK, ...(after_id === undefined ? {} : { after_id }) });
    after_id = chunk.at(-1)?.id;
    if (chunk.length < CHUNK || after_id === undefined) return;
  }
}

async function embedOnce(
  unit: UnitOfWork,
  relation: EmbedsOne,
  { collection, id, document, last }: Sweep,
  page: Page,
): Promise<StoredDocument[]> {
  const where: ViewQuery['where'] = { [relation.by]: id };
  const chunk = await unit.version.scan(relation.in, { where, ...page });
  unit.begin({ position: last });
  for (const stored of chunk) {
    unit.adopt(relation.in, stored);
    const before = unit.read(relation.in, stored.id);
    if (!before) throw new LostRaceError(`${relation.in} ${stored.id} was deleted meanwhile`);
    unit.set(relation.in, stored.id, withOne(before, relation, id, shownOf(collection, document)));
  }
  return chunk;
}

async function embedInUsers(
  unit: UnitOfWork,
  index: ReverseIndex,
  { collection, id, document, first, store_id }: Sweep,
  page: Page,
): Promise<StoredDocument[]> {
  const uses = await unit.version.scan(index.collection, {
    where: whereUsed(index, id, store_id ?? ''),
    ...page,
  });
  const users = uses.flatMap((use) => (use.document ? [userOf(use.document)] : []));
  await loadUsers(unit, users);
  // Before the event itself, which is still to reach the store that all these are in.
  unit.begin({ position: first - 1n });
  for (const user of users) embedInto(unit, user, collection, id, document);
  return uses;
}
