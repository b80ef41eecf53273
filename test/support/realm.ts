import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { DispatcherTimes } from '../../projections/engine/dispatcher';
import { type Pipeline, startPipeline } from '../../projections/pipeline';
import { openEventStore, openViewStore } from '../../services/boot/open-adapters';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import {
  type JsonObject,
  type Position,
  type StreamName,
  streamName,
} from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { JobQueue } from '../../shared/ports/job-queue';
import type { ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { bounded } from './bounded';
import type { Step } from './history';
import { makeTempDir } from './temp-dir';

/**
 * The stores of one realm, on SQLite files in a folder of their own or on the servers in `settings`. `log` replaces the event
 * store.
 */
export interface TestRealm {
  readonly events: EventStore;
  readonly views: ViewStore;
  /** The arguments that `rebuild`, `verify`, `retry` and others share. */
  readonly parts: {
    realm: 'live';
    events: EventStore;
    views: ViewStore;
    system: typeof realSystem;
    log: pino.Logger;
  };
  append(...steps: readonly Step[]): Promise<Position>;
  /** Appends an event of any type and data to a stream of `Step`s. */
  appendRaw(stream: StreamName, partition_key: string, type: string, data: JsonObject): Promise<Position>;
  /** Starts a pipeline with its own queue and lease owner, as another process would. */
  pipeline(options?: {
    queue?: JobQueue;
    times?: Partial<DispatcherTimes>;
    views?: ViewStore;
  }): Promise<Pipeline>;
  active(): Promise<ViewVersion>;
  close(): Promise<void>;
}

export interface TestRealmOptions {
  readonly log?: EventStore;
  /** Default: a new folder, which `close` removes. */
  readonly folder?: string;
  /** The servers, as `ownNames` returns them. Default: none. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function openRealm({
  log: elsewhere,
  folder: given,
  settings,
}: TestRealmOptions = {}): Promise<TestRealm> {
  const own = given === undefined ? makeTempDir() : undefined;
  const folder = given ?? own!.path;
  const config = parseConfig({ ...settings, DATA_DIR: folder });
  const events = elsewhere ?? (await openEventStore(config, 'live'));
  const views = await openViewStore(config, 'live');
  const log = pino({ level: 'silent' });
  const parts = { realm: 'live', events, views, system: realSystem, log } as const;
  const revisions = new Map<string, number>();
  const stops: (() => Promise<void>)[] = [];

  const appendRaw: TestRealm['appendRaw'] = async (stream, partition_key, type, data) => {
    const revision = revisions.get(stream) ?? -1;
    revisions.set(stream, revision + 1);
    const metadata = { occurred_at: new Date().toISOString(), partition_key, source: 'system' } as const;
    const result = await events.append(stream, revision, [
      { id: randomUUID(), type, schema_version: 1, data, metadata },
    ]);
    if (result.outcome !== 'appended') throw new Error(`${stream} is at ${result.actual}`);
    return result.position;
  };
  return {
    events,
    views,
    parts,
    appendRaw,
    append: async (...steps) => {
      let last: Position = 0n;
      for (const { category, id, type, data, store_id } of steps)
        last = await appendRaw(streamName('live', category, id), store_id, type, data);
      return last;
    },
    pipeline: async (options = {}) => {
      const queue = options.queue ?? new InProcessJobQueue();
      const started = await startPipeline({
        ...parts,
        views: options.views ?? views,
        queue,
        owner: randomUUID(),
        ...(options.times && { times: options.times }),
      });
      const pipeline = bounded(started, 'pipeline');
      stops.push(async () => {
        await pipeline.stop();
        await queue.close();
      });
      return pipeline;
    },
    active: async () => {
      const active = (await views.versions()).find(({ status }) => status === 'active');
      return views.open(active!.version);
    },
    close: async () => {
      for (const stop of stops) await stop();
      await events.close();
      await views.close();
      own?.remove();
    },
  };
}
