import { z } from 'zod';
import type { StoreId } from '../../kernel/ids';
import { timestamp } from '../../kernel/system';
import { type StreamName, streamName } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import type { Environment } from '../realm';

/**
 * The most publications that one event counts. It then has about 9 kB, far below the limits of the event stores, and a
 * worker loads at most this many publications for it.
 */
export const COUNTED_PUBLICATIONS_MAX = 500;

export const pageViewEvents = [
  /**
   * How often publications of a store were viewed in an interval. Query processes count in memory first: one event per
   * store and interval, not one per view (docs/interface/publications.md#views). `counts` is packed (`packCounts`), because ids are
   * most of what views cost in the log.
   */
  defineEvent(
    'PageViewsCounted',
    z.object({ counts: z.string().refine(isPacked, 'packed counts of publications') }),
  ),
  /** Only in logs of earlier releases: the same counts by id. */
  defineEvent('PublicationsViewed', z.object({ counts: z.record(z.string(), z.int().min(1)) })),
] as const;

export type PageViewEvent = EventOf<typeof pageViewEvents>;

/** Returns how often each publication was viewed according to the event, by id. */
export function viewsIn(event: PageViewEvent): Readonly<Record<string, number>> {
  return event.type === 'PageViewsCounted' ? unpackCounts(event.data.counts) : event.data.counts;
}

/**
 * Returns the stream of a store's page views on the UTC day of `time_ms`. They are not in the streams of the
 * publications, so that writing to a popular publication reads none of them (docs/decisions/0020-streams-of-views.md).
 */
export function pageViewStream(environment: Environment, store_id: StoreId, time_ms: number): StreamName {
  const [day] = timestamp(time_ms).split('T');
  return streamName(environment, 'views', `${store_id}-${day}`);
}

/**
 * Counts by id, in about 18 characters each instead of 42 as JSON. The ids are UUIDv7, sorted, so that their times differ
 * by little. Base64 of, for each id:
 *
 * - the time (the first 48 bits) minus that of the id before, as a variable-length integer of 7 bits per byte
 * - the last 10 bytes of the id
 * - the count, as a variable-length integer
 */
const TIME_BYTES = 6;
const ID_BYTES = 16;

/** Returns the counts in their packed form. The ids are UUIDs in lower case, the counts positive integers. */
export function packCounts(counts: Readonly<Record<string, number>>): string {
  const bytes: number[] = [];
  let last_time = 0;
  for (const id of Object.keys(counts).sort()) {
    const id_bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
    const time = id_bytes.readUIntBE(0, TIME_BYTES);
    pushInteger(bytes, time - last_time);
    bytes.push(...id_bytes.subarray(TIME_BYTES));
    pushInteger(bytes, counts[id]!);
    last_time = time;
  }
  return Buffer.from(bytes).toString('base64');
}

/** Returns the counts by id. Throws `RangeError` if the text is not a result of `packCounts`. */
export function unpackCounts(text: string): Record<string, number> {
  const bytes = Buffer.from(text, 'base64');
  const counts: Record<string, number> = {};
  let [at, time] = [0, 0];
  const nextInteger = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || factor > Number.MAX_SAFE_INTEGER)
        throw new RangeError('the counts are cut off');
      value += (byte % 128) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  while (at < bytes.length) {
    time += nextInteger();
    const id = Buffer.alloc(ID_BYTES);
    id.writeUIntBE(time, 0, TIME_BYTES);
    if (bytes.copy(id, TIME_BYTES, at) < ID_BYTES - TIME_BYTES)
      throw new RangeError('the counts are cut off');
    at += ID_BYTES - TIME_BYTES;
    counts[uuidOf(id)] = nextInteger();
  }
  return counts;
}

/** Whether the text is a result of `packCounts`. */
export function isPacked(text: string): boolean {
  try {
    const counts = unpackCounts(text);
    return Object.values(counts).every((count) => count >= 1) && packCounts(counts) === text;
  } catch {
    return false;
  }
}

function pushInteger(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
  bytes.push(rest);
}

function uuidOf(id: Buffer): string {
  const hex = id.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
