import { randomUUID } from 'node:crypto';
import { type CallLimits, DEFAULT_LIMITS } from '../../../shared/adapters/eventstoredb/connection';
import {
  EventStoreDbEventStore,
  type EventStoreDbOptions,
} from '../../../shared/adapters/eventstoredb/event-store';
import type { EncodedEvent, StreamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AppendResult, EventStore } from '../../../shared/ports/event-store';
import { bounded } from '../bounded';
import { serversForTests } from '../own-servers';
import { makeTempDir, type TempDir } from '../temp-dir';
import { WAIT_MS_MAX, waitFor, within } from '../wait-for';
import { EventStoreStandIn } from './standin';

/** Address of a real server, from `EVENTSTORE_URL` or of a container. Undefined if the stand-in is used. */
export const eventStoreUrl: string | undefined = serversForTests().EVENTSTORE_URL;

/** The server for a test file: the environment's, or a stand-in that runs as long as the file's tests. */
export class EventStoreServer {
  private standIn: EventStoreStandIn | undefined;
  private folder: TempDir | undefined;

  async start(): Promise<void> {
    if (eventStoreUrl !== undefined) return;
    this.folder = makeTempDir();
    this.standIn = await EventStoreStandIn.start({ folder: this.folder.path });
  }

  get url(): string {
    return eventStoreUrl ?? this.standIn!.url;
  }

  async stop(): Promise<void> {
    await this.standIn?.stop();
    this.folder?.remove();
  }
}

/**
 * Returns a namespace for one test. Servers are not emptied between tests, so each test uses its own streams and log.
 */
export const ownNamespace = (): string => `t${randomUUID()}.`;

/**
 * Limits that no call reaches, for tests that are not about how soon a call fails. An attempt has five times as long as in
 * the service: while a busy machine needs longer for an answer, each attempt would end without one, and the next begin
 * with a new connection, for as long as the machine is busy.
 */
const LONG_LIMITS: Partial<CallLimits> = {
  attempt_ms: 5 * DEFAULT_LIMITS.attempt_ms,
  call_ms: 120_000,
};

/**
 * Opens a store whose calls do not fail because of an outage, unless `limits` says so. A call that never ends fails the
 * test by `WAIT_MS_MAX`.
 */
export async function openStore(
  url: string,
  options: Partial<EventStoreDbOptions> = {},
): Promise<EventStore> {
  const store = await EventStoreDbEventStore.open({ url, realm: 'live', limits: LONG_LIMITS, ...options });
  return bounded(store, 'event store');
}

/** Opens a store whose calls fail as soon as they do in the service. */
export function openFailFastStore(url: string): Promise<EventStore> {
  return openStore(url, { limits: DEFAULT_LIMITS });
}

/** Repeats an append until it is answered, as a caller does when the store is unavailable. */
export async function appendInTheEnd(
  store: EventStore,
  stream: StreamName,
  expected_revision: number,
  events: readonly EncodedEvent[],
): Promise<AppendResult> {
  const deadline_ms = Date.now() + WAIT_MS_MAX;
  for (;;) {
    try {
      return await within(store.append(stream, expected_revision, events), 'an append to be answered');
    } catch (error) {
      if (!(error instanceof CatalogError) || Date.now() > deadline_ms) throw error;
    }
  }
}

/**
 * Runs `work` and cuts all connections each time that `events_between` more events have been stored. It counts events
 * instead of time, so that a slow machine makes progress between two cuts.
 */
export async function whileConnectionsAreCut(
  server: EventStoreStandIn,
  events_between: number,
  work: () => Promise<unknown>,
): Promise<void> {
  let over = false;
  const working = work().finally(() => {
    over = true;
  });
  const stored = (): number => server.events('').length;
  const cutting = (async () => {
    for (let goal = stored() + events_between; !over; goal += events_between) {
      await waitFor(() => over || stored() >= goal);
      server.cutConnections();
    }
  })();
  await within(Promise.all([working, cutting]), 'the work while connections are cut', 2 * WAIT_MS_MAX);
}
