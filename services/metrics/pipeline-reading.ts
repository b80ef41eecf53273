import type { Position } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { withTimeout } from '../../shared/kernel/async';
import type { System } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';

/** How far a partition of the active view version is behind the log. */
export interface PartitionLag {
  /** Log positions between the checkpoint and the head. In SQLite every position is one event. */
  readonly events: number;
  /** Age of the realm's oldest event after the checkpoint, even if it belongs to another partition. 0 if there is none. */
  readonly seconds: number;
}

/** The state of a realm's log and documents at the time of a scrape. */
export interface PipelineReading {
  readonly realm: Realm;
  /** Whether the event store responded. */
  readonly event_store: boolean;
  /** Whether the view store responded. */
  readonly view_store: boolean;
  /** Indexed by partition. Undefined if the lag could not be read. */
  readonly partitions: readonly (PartitionLag | undefined)[];
  /** Streams on the dead-letter list. Undefined if it could not be read. */
  readonly dead_letters: number | undefined;
  /** Uploads that wait for rendering. Undefined in `control`, which has no media, and if it could not be read. */
  readonly processing: number | undefined;
}

export interface ReadParts {
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly system: System;
}

/** How long a scrape or a readiness check waits for a store. */
const TIMEOUT_MS = 2_000;
/** A lag may be computed from a head of this age, so that all realms of a scrape share one read. */
const HEAD_AGE_MS = 1_000;

/** Reads the state of all realms in parallel. Never throws. */
export function readPipelines(parts: ReadParts): Promise<PipelineReading[]> {
  return Promise.all(REALMS.map((realm) => readPipeline(parts, realm)));
}

async function readPipeline(parts: ReadParts, realm: Realm): Promise<PipelineReading> {
  const events = parts.events[realm];
  const view = parts.views[realm];
  const [head, documents] = await Promise.all([
    orUndefined(events.head(HEAD_AGE_MS)),
    orUndefined(readDocuments(view, realm)),
  ]);
  const no_lags = Array.from({ length: partitionCount(view) }, () => undefined);
  const stores = { realm, event_store: head !== undefined, view_store: documents !== undefined };
  const { dead_letters, processing } = documents ?? {};
  if (head === undefined || documents === undefined)
    return { ...stores, partitions: no_lags, dead_letters, processing };
  const partitions = await orUndefined(readLagsAt(head, events, parts.system, documents.checkpoints));
  return { ...stores, partitions: partitions ?? no_lags, dead_letters, processing };
}

/** Returns 0 until the view store was reached for the first time, because it stores the partition count. */
function partitionCount(view: ActiveView): number {
  try {
    return view.partition_count;
  } catch {
    return 0;
  }
}

async function readDocuments(view: ActiveView, realm: Realm) {
  const version = await view.current();
  if (version === undefined) throw new Error('the realm was never projected');
  const [checkpoints, dead_letters, processing] = await Promise.all([
    version.checkpoints(),
    version.deadLetters(),
    realm === 'control' ? undefined : orUndefined(version.count('media', { status: 'processing' })),
  ]);
  return { checkpoints, dead_letters: dead_letters.length, processing };
}

/** Returns the lag of each partition, from a head of the log that may be a second old. */
export async function readLags(
  { events, system }: Pick<ReadParts, 'events' | 'system'>,
  realm: Realm,
  checkpoints: readonly Position[],
): Promise<PartitionLag[]> {
  return readLagsAt(await events[realm].head(HEAD_AGE_MS), events[realm], system, checkpoints);
}

/**
 * Returns the lag of each partition behind a head of the log. Reads the log once per distinct checkpoint: idle partitions
 * often share one.
 */
async function readLagsAt(
  head: Position,
  events: EventStore,
  { now }: System,
  checkpoints: readonly Position[],
): Promise<PartitionLag[]> {
  const behind = [...new Set(checkpoints)].filter((checkpoint) => checkpoint < head);
  const times = await Promise.all(behind.map((checkpoint) => readTimeOfNextEvent(events, checkpoint, head)));
  return checkpoints.map((checkpoint) => {
    const time_ms = times[behind.indexOf(checkpoint)];
    const seconds = time_ms === undefined ? 0 : Math.max(0, now() - time_ms) / 1_000;
    return { events: Math.max(0, Number(head - checkpoint)), seconds };
  });
}

/**
 * Returns the time of the first event after a position, in Unix milliseconds. Undefined if all positions up to `head` are
 * events of other realms, which share a server's log.
 */
async function readTimeOfNextEvent(
  events: EventStore,
  after: Position,
  head: Position,
): Promise<number | undefined> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), TIMEOUT_MS);
  try {
    for await (const batch of events.subscribe({ after, signal: stop.signal, batch_size: 1 })) {
      const [first] = batch.events;
      if (first) return Date.parse(first.metadata.occurred_at);
      if (batch.position >= head) return undefined;
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  throw new Error('the log returned no event within the time limit');
}

/** Resolves to undefined if a store does not answer within two seconds, or if the promise rejects. */
export async function orUndefined<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  return withTimeout(promise, TIMEOUT_MS, () => undefined).catch(() => undefined);
}
