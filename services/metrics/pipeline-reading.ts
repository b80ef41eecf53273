import type { Position } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { withTimeout } from '../../shared/kernel/async';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { ActiveView } from '../../shared/ports/view-store';

/** How far a lane of the active documents is behind. */
export interface LaneLag {
  /** Positions of the log; on the embedded log one for each event. */
  readonly events: number;
  /** Age of the oldest event after the lane's checkpoint, whichever lane's it is. */
  readonly seconds: number;
}

/** One realm's log and documents at one moment. */
export interface PipelineReading {
  readonly realm: Realm;
  /** Whether each answers. */
  readonly event_store: boolean;
  readonly view_store: boolean;
  /** By lane; undefined where it cannot be told. */
  readonly lanes: readonly (LaneLag | undefined)[];
  readonly parked: number | undefined;
  /** Uploads whose pictures are to be made; undefined where there are none by kind, as in `control`. */
  readonly processing: number | undefined;
}

export interface ReadParts {
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly system: System;
}

/** A scrape waits no longer for a store that does not answer. */
const TIMEOUT_MS = 2_000;

/** Every realm, all at once. Never throws. */
export function readPipelines(parts: ReadParts): Promise<PipelineReading[]> {
  return Promise.all(REALMS.map((realm) => readPipeline(parts, realm)));
}

async function readPipeline(parts: ReadParts, realm: Realm): Promise<PipelineReading> {
  const { [realm]: events } = parts.events;
  const { [realm]: view } = parts.views;
  const [head, documents] = await Promise.all([
    unlessFailed(events.head()),
    unlessFailed(readDocuments(view, realm)),
  ]);
  const unknown = Array.from({ length: laneCount(view) }, () => undefined);
  const stores = { realm, event_store: head !== undefined, view_store: documents !== undefined };
  const { parked, processing } = documents ?? {};
  if (head === undefined || documents === undefined) return { ...stores, lanes: unknown, parked, processing };
  const lanes = await unlessFailed(lagsOf(events, parts.system, documents.checkpoints, head));
  return { ...stores, lanes: lanes ?? unknown, parked, processing };
}

/** Before the documents were reached for the first time nobody knows how many lanes there are. */
function laneCount(view: ActiveView): number {
  try {
    return view.lane_count;
  } catch {
    return 0;
  }
}

async function readDocuments(view: ActiveView, realm: Realm) {
  const version = await view.current();
  if (version === undefined) throw new Error('nothing was projected yet');
  const [checkpoints, parked, processing] = await Promise.all([
    version.checkpoints(),
    version.parked(),
    // Documents of an older schema have no media until they are rebuilt.
    realm === 'control' ? undefined : unlessFailed(version.count('media', { status: 'processing' })),
  ]);
  return { checkpoints, parked: parked.length, processing };
}

/** Lanes that stand at one position, as idle ones do, share one look at the log. */
async function lagsOf(
  events: EventStore,
  { now }: System,
  checkpoints: readonly Position[],
  head: Position,
): Promise<LaneLag[]> {
  const ages = new Map<Position, Promise<number>>();
  const ageAfter = (checkpoint: Position): Promise<number> => {
    const known =
      ages.get(checkpoint) ?? oldestAfter(events, checkpoint).then((ms) => Math.max(0, now() - ms));
    ages.set(checkpoint, known);
    return known;
  };
  return Promise.all(
    checkpoints.map(async (checkpoint) =>
      checkpoint >= head
        ? { events: 0, seconds: 0 }
        : { events: Number(head - checkpoint), seconds: (await ageAfter(checkpoint)) / 1000 },
    ),
  );
}

/** When the first event after the position happened, Unix milliseconds. */
async function oldestAfter(events: EventStore, after: Position): Promise<number> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), TIMEOUT_MS);
  try {
    for await (const batch of events.subscribe({ after, signal: stop.signal, batch_size: 1 })) {
      const [first] = batch.events;
      if (first) return Date.parse(first.metadata.occurred_at);
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  throw new Error('the log did not tell its next event');
}

/** Undefined where it fails, or takes too long. */
async function unlessFailed<Value>(asking: Promise<Value>): Promise<Value | undefined> {
  return withTimeout(asking, TIMEOUT_MS, () => undefined).catch(() => undefined);
}
