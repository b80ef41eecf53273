import { CHANGES_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { isOfRun, parseStreamName } from '../../shared/catalog/events/envelope';
import { requirePermissions } from '../../shared/http/auth';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { endLongTurn } from '../../shared/kernel/async';
import { hasUnknownOwner } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';
import { markOf, offsetOf } from '../../shared/ports/log-offset';
import { ChangeCollector, type Entry, isSameWrite, isWanted, withKeyNames } from './change-collector';
import { openStore, type ReadDeps, requestedStore, requireSecretKey, requireStore } from './read';

const PAGE_EVENTS = 256;
/** An answer ends after so many events of the log, most of which may be those of other stores. */
const EXAMINED_MAX = 10_000;
/** An answer ends after so many events of the store, because the state before a change may have to be read. */
const OWN_MAX = 500;
/** How much the clocks of two processes may differ: an event this much older than `since` has no newer ones before it. */
const SKEW_MS = 60_000;

/** Handles `GET /api/history`: reads the log from its end (docs/interface/changes.md#history). */
export async function readStoreChanges(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'A history');
  requirePermissions(request, CHANGES_PERMISSIONS);
  const query = parseQuery(reads.listHistory.query, request.query);
  const { actor, run, limit, cursor } = query;
  const since_ms = Date.parse(query.since ?? '') || 0;
  const until_ms = Date.parse(query.until ?? '') || Number.POSITIVE_INFINITY;
  const store_id = requestedStore(request);
  await requireStore(await openStore(deps, request, store_id), store_id);
  const { events } = deps[request.principal.environment];
  const categories = query.resource.map((name) => (name === 'variant' ? 'publication' : name));
  /** Whether the event may be a part of a wanted change. */
  const isCandidate = (event: RecordedEvent): boolean => {
    if (hasUnknownOwner(event)) return true;
    const { partition_key, occurred_at, api_key_id, source } = event.metadata;
    const at_ms = Date.parse(occurred_at);
    return (
      partition_key === store_id &&
      (actor === undefined || (source === 'api' && api_key_id === actor)) &&
      (run === undefined || isOfRun(event.metadata, run)) &&
      (categories.length === 0 || categories.includes(parseStreamName(event.stream)?.category as never)) &&
      at_ms >= since_ms &&
      at_ms <= until_ms
    );
  };
  const isTooOld = ({ metadata }: RecordedEvent): boolean =>
    Date.parse(metadata.occurred_at) < since_ms - SKEW_MS;
  const before = cursor === undefined ? undefined : (await markOf(events, cursor)).position;
  const read = await newestWrites(events, { before, isCandidate, isTooOld, limit });

  const collector = new ChangeCollector(events, {
    store_id,
    key: '',
    wants: (entry) =>
      isWanted(entry, { resource: query.resource }) && (actor === undefined || entry.actor.id === actor),
  });
  const changes = new Map<Write, readonly Entry[]>();
  for (const write of read.writes.toReversed()) {
    for (const event of write.toReversed()) await collector.add(event);
    changes.set(write, collector.takeEntries().toReversed());
  }
  const data = read.writes.flatMap((write) => changes.get(write)!);
  const meta = {
    limit,
    ...(read.next && { next_cursor: offsetOf({ ...read.next, event_id: read.next.id }) }),
  };
  return { data: (await withKeyNames(deps, data)) as unknown as Answer['data'], meta };
}

/** The events of a write that are wanted, the newest first. */
type Write = RecordedEvent[];

interface Reading {
  readonly before: Position | undefined;
  isCandidate(event: RecordedEvent): boolean;
  /** Whether no earlier event is a candidate. */
  isTooOld(event: RecordedEvent): boolean;
  readonly limit: number;
}

/**
 * Returns the newest writes with candidates, at most `limit`, each with all of its events. `next` is the event before which
 * older ones are. It is undefined if there are none.
 */
async function newestWrites(
  events: EventStore,
  { before, isCandidate, isTooOld, limit }: Reading,
): Promise<{ readonly writes: readonly Write[]; readonly next: RecordedEvent | undefined }> {
  const writes: Write[] = [];
  let next: RecordedEvent | undefined;
  let own = 0;
  for (let examined = 0; ; ) {
    await endLongTurn();
    const page = await events.readBackwards(PAGE_EVENTS, next?.position ?? before);
    if (page.length === 0) return { writes, next: undefined };
    for (const event of page) {
      const newest = writes.at(-1);
      const continues = newest !== undefined && isSameWrite(event, newest.at(-1)!);
      const is_full = writes.length >= limit || own >= OWN_MAX || examined >= EXAMINED_MAX;
      if (is_full && !continues) return { writes, next };
      if (isTooOld(event)) return { writes, next: undefined };
      examined++;
      next = event;
      if (!isCandidate(event)) continue;
      own++;
      if (continues) newest.push(event);
      else writes.push([event]);
    }
  }
}
