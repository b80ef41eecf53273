import { START } from '../catalog/events/envelope';
import { CatalogError, LogMismatchError } from '../kernel/errors';
import type { EventStore, LogMark } from './event-store';

// The offsets of the feed of changes (docs/interface/changes.md).

/**
 * A place in the feed, after an event. A copy first reads the resources that exist at this event. `existing` is then
 * the place among these resources: after the resource `after_id` of the category with this index. An index after the
 * last category means that all of them were read.
 */
export interface Place extends LogMark {
  readonly existing?: { readonly index: number; readonly after_id: string };
}

/** Returns the offset of a place. It sorts by position, and names the log by the end of the event's id. */
export function offsetOf({ position, event_id, existing }: Place): string {
  const offset = `${String(position).padStart(20, '0')}-${event_id.slice(-8)}`;
  return existing === undefined ? offset : `${offset}~${existing.index}${existing.after_id}`;
}

/** Returns the place after a change, from its id. */
export function placeOf(id: string): LogMark {
  const [digits = '', event_id = ''] = id.split('-');
  return { position: BigInt(digits), event_id };
}

export const BEGINNING: LogMark = { position: START, event_id: '0'.repeat(8) };

/** Returns the place after all events. */
export async function tailOf(events: EventStore): Promise<LogMark> {
  return (await events.markAt(await events.head())) ?? BEGINNING;
}

/** Calls `read`. Throws `offset_of_other_log` if `read` throws that the log does not contain an expected event. */
export async function unlessMismatch<Result>(read: () => Promise<Result>): Promise<Result> {
  return read().catch((error: unknown) => {
    throw error instanceof LogMismatchError ? new CatalogError('offset_of_other_log') : error;
  });
}

/** Returns the place of an offset. Throws `offset_of_other_log` unless the log contains its event. */
export async function markOf(events: EventStore, offset: string): Promise<Place> {
  if (offset === '-1' || offset === offsetOf(BEGINNING)) return BEGINNING;
  if (offset === 'now') return tailOf(events);
  if (offset === 'snapshot') return { ...(await tailOf(events)), existing: { index: 0, after_id: '' } };
  const [mark = '', resource] = offset.split('~');
  const { position, event_id: hash } = placeOf(mark);
  const found = await unlessMismatch(async () =>
    position > (await events.head()) ? undefined : events.markAt(position),
  );
  // A later event is found if an operator has erased this one.
  const is_known = found && (found.position > position || found.event_id.endsWith(hash));
  if (!is_known) throw new CatalogError('offset_of_other_log');
  const existing = resource && { index: Number(resource[0]), after_id: resource.slice(1) };
  return { position, event_id: hash, ...(existing && { existing }) };
}
