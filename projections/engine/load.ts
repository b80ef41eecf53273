import type { CollectionName } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { type Decoded, decodedOrNothing } from './decoded';
import { plans, viewsOf } from './plan';
import { idsIn } from './related';
import { type User, useId, whereUsed } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';

type Ids = Map<CollectionName, Set<string>>;

/** A document that changes and that others embed, with the store that the events name, where they do. */
interface Embedded {
  readonly collection: CollectionName;
  readonly id: string;
  readonly store_id: string | undefined;
}

/** What a run of events names. */
interface Named {
  readonly all: Ids;
  /** Documents that the events may change. The others are only looked at: they may be another partition's. */
  readonly touched: Ids;
  /** Those of the events' own streams. */
  readonly own: Ids;
  readonly embedded: Map<string, Embedded>;
}

/**
 * Reads every document that folding these events may ask for, round by round: what the events name, what embeds the
 * documents that change, then the parents of what was found. One that more than `users_max` embed is marked as crowded
 * instead. Events that cannot be read name nothing.
 */
export async function loadFor(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  users_max: number,
): Promise<void> {
  const named: Named = { all: new Map(), touched: new Map(), own: new Map(), embedded: new Map() };
  for (const event of events) {
    const decoded = decodedOrNothing(event);
    if (decoded) addNamed(decoded, named);
  }
  const { all, touched, own, embedded } = named;
  await loadAll(unit, all);
  const users = await findUsers(unit, [...embedded.values()], users_max);
  for (const user of users) add(touched, user.collection, user.id);
  await Promise.all([loadAll(unit, touched), loadAll(unit, usesOf(unit, own))]);
  await loadParents(unit, touched);
}

/** Reads documents that embed one which changes, and their parents. */
export async function loadUsers(unit: UnitOfWork, users: readonly User[]): Promise<void> {
  const touched: Ids = new Map();
  for (const { collection, id } of users) add(touched, collection, id);
  await loadAll(unit, touched);
  await loadParents(unit, touched);
}

/** An event names other documents in the fields by which they are related. */
function addNamed({ category, id: stream_id, event }: Decoded, named: Named): void {
  const { all, touched, own, embedded } = named;
  const data = event.data as Readonly<Record<string, unknown>>;
  for (const { collection, idOf } of viewsOf(category)) {
    const id = idOf ? idOf(event) : stream_id;
    if (id === undefined) continue;
    const plan = plans[collection];
    for (const ids of [all, touched, own]) add(ids, collection, id);
    for (const parents of plan.parents)
      for (const ids of [all, touched]) add(ids, parents.collection, data[parents.by]);
    for (const { of, by } of plan.embedsOne) add(all, of, data[by]);
    for (const { of, by, index } of plan.embedsMany)
      for (const target_id of Array.isArray(data[by]) ? data[by] : []) {
        add(all, of, target_id);
        add(all, index.collection, useId(String(target_id), id));
      }
    if (plan.embeddedMany.length === 0) continue;
    const store_id = typeof data.store_id === 'string' ? data.store_id : embedded.get(id)?.store_id;
    embedded.set(id, { collection, id, store_id });
  }
}

/** The uses that these documents have made so far. */
function usesOf(unit: UnitOfWork, own: Ids): Ids {
  const uses: Ids = new Map();
  for (const [collection, ids] of own)
    for (const relation of plans[collection].embedsMany)
      for (const id of ids)
        for (const target_id of idsIn(relation, unit.read(collection, id)))
          add(uses, relation.index.collection, useId(target_id, id));
  return uses;
}

/** What embeds these; nothing for those that are crowded. Uses in memory may have changed since they were stored. */
async function findUsers(
  unit: UnitOfWork,
  embedded: readonly Embedded[],
  users_max: number,
): Promise<User[]> {
  const found = await Promise.all(
    embedded.map(async ({ collection, id, store_id: named }) => {
      const store_id = unit.read(collection, id)?.keys.store_id ?? named;
      if (typeof store_id !== 'string') return [];
      for (const index of new Set(plans[collection].embeddedMany.map((relation) => relation.index))) {
        const where = whereUsed(index, id, store_id);
        const uses = await unit.version.scan(index.collection, { where, limit: users_max + 1 });
        if (uses.length > users_max) unit.markCrowded(id);
        else
          for (const use of uses) if (!unit.has(index.collection, use.id)) unit.adopt(index.collection, use);
      }
      return unit.isCrowded(id) ? [] : unit.usersOf(id);
    }),
  );
  return found.flat();
}

/** Reads the documents that count or list these, those that count or list them, and so on. */
async function loadParents(unit: UnitOfWork, children: Ids): Promise<void> {
  for (let round = children; round.size > 0; ) {
    const next: Ids = new Map();
    for (const [collection, ids] of round)
      for (const { collection: parent, by } of plans[collection].parents)
        for (const id of ids) {
          const parent_id = unit.read(collection, id)?.keys[by];
          if (typeof parent_id === 'string' && !unit.has(parent, parent_id)) add(next, parent, parent_id);
        }
    await loadAll(unit, next);
    round = next;
  }
}

async function loadAll(unit: UnitOfWork, ids: Ids): Promise<void> {
  await Promise.all([...ids].map(([collection, some]) => unit.load(collection, some)));
}

function add(ids: Ids, collection: CollectionName, id: unknown): void {
  if (typeof id !== 'string') return;
  const set = ids.get(collection);
  if (set) set.add(id);
  else ids.set(collection, new Set([id]));
}
