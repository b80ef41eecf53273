import { leaseOwner } from '../../projections/engine/lease';
import { startPipeline } from '../../projections/pipeline';
import type { CollectionName } from '../../shared/catalog/documents';
import type { JsonObject, Position } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { withTimeout } from '../../shared/kernel/async';
import type { ViewQuery } from '../../shared/ports/view-store';
import { openJobQueue } from '../boot/open-adapters';
import type { Runtime } from '../boot/runtime';
import { progressBar } from './progress';

/** How long a write waits for what it changed to be read; a server that runs is level within moments. */
const AFTER_WRITE_MS = 2_000;
/** How long a read waits for a log that nobody has projected yet. */
const BEFORE_READ_MS = 60_000;
const WATCH_MS = 250;

/** After a write: returns when a server's reads know of it, or silently when nothing projects it in time. */
export async function projectWritten(runtime: Runtime, ...realms: readonly Realm[]): Promise<void> {
  await projectAll(runtime, realms, AFTER_WRITE_MS);
}

/** Before a read of documents: whether they are level with the log as it stands now. */
export async function projectBeforeRead(runtime: Runtime, ...realms: readonly Realm[]): Promise<boolean> {
  const level = await projectAll(runtime, realms, BEFORE_READ_MS);
  if (!level) process.stderr.write('catalog: the documents are behind the log; what is shown may be old\n');
  return level;
}

async function projectAll(runtime: Runtime, realms: readonly Realm[], timeout_ms: number): Promise<boolean> {
  const levels = await Promise.all(realms.map((realm) => project(runtime, realm, timeout_ms)));
  return levels.every((level) => level);
}

/**
 * A pipeline in this process, for as long as it takes. Where a server projects already it has the feeder's lease:
 * this one then feeds nothing, and only waits for the server's checkpoints.
 */
async function project(runtime: Runtime, realm: Realm, timeout_ms: number): Promise<boolean> {
  if (await isLevel(runtime, realm)) return true;
  const { config, events, viewStores, system, log } = runtime;
  const views = viewStores[realm];
  // Not `ready`, which waits for as long as it takes: where the store cannot be reached, this throws.
  await views.versions();
  const queue = await openJobQueue(config, realm, { lane_count: views.lane_count });
  const watching = watch(runtime, realm);
  try {
    const parts = { realm, events: events[realm], views, queue, system, log, owner: leaseOwner() };
    const pipeline = await startPipeline(parts);
    try {
      const level = pipeline.caughtUp().then(() => true);
      return await withTimeout(level, timeout_ms, () => false);
    } finally {
      await pipeline.stop();
    }
  } finally {
    watching.end();
    await queue.close();
  }
}

/** A bar, for the log may be long. */
function watch(runtime: Runtime, realm: Realm): { end(): void } {
  const bar = progressBar(`${realm}: projecting`);
  let from: number | undefined;
  const look = async (): Promise<void> => {
    const level = await levelOf(runtime, realm);
    const done = Number(level.done);
    from ??= done;
    bar.show({ done, total: Number(level.total), from });
  };
  const timer = setInterval(() => void look().catch(() => {}), WATCH_MS);
  return {
    end() {
      clearInterval(timer);
      bar.clear();
    },
  };
}

async function isLevel(runtime: Runtime, realm: Realm): Promise<boolean> {
  const { done, total } = await levelOf(runtime, realm);
  return done !== null && done >= total;
}

/** The place of the lane that is furthest behind, null where nothing was ever projected, and the log's head. */
async function levelOf(runtime: Runtime, realm: Realm): Promise<{ done: Position | null; total: Position }> {
  const [total, version] = await Promise.all([runtime.events[realm].head(), runtime.views[realm].current()]);
  const checkpoints = (await version?.checkpoints()) ?? [];
  return { done: checkpoints.length === 0 ? null : least(checkpoints), total };
}

const PAGE = 500;

/** The bodies of a collection's documents by id, which is by age. None in a realm that was never projected. */
export async function scanBodies(
  runtime: Runtime,
  realm: Realm,
  collection: CollectionName,
  where: ViewQuery['where'] = {},
): Promise<JsonObject[]> {
  const view = await runtime.views[realm].current();
  if (!view) return [];
  const found: JsonObject[] = [];
  for (let after_id: string | undefined; ; ) {
    const from = after_id === undefined ? {} : { after_id };
    const page = await view.scan(collection, { where, ...from, limit: PAGE });
    for (const { document } of page) if (document) found.push(document.body);
    if (page.length < PAGE) return found;
    after_id = page.at(-1)!.id;
  }
}
