import { randomUUID } from 'node:crypto';
import { type CallLimits, DEFAULT_LIMITS } from '../../../shared/adapters/eventstoredb/connection';
import {
  EventStoreDbEventStore,
  type EventStoreDbOptions,
} from '../../../shared/adapters/eventstoredb/event-store';
import { serversForTests } from '../own-servers';
import { makeTempDir, type TempDir } from '../temp-dir';
import { EventStoreStandIn } from './standin';

/** A real server: at the address in `EVENTSTORE_URL`, or in a container. If there is none, the stand-in serves. */
export const eventStoreUrl: string | undefined = serversForTests().EVENTSTORE_URL;

/** A server for a test file: the one of the environment, or a stand-in that lives as long as the file's tests. */
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

/** A server is not emptied between tests: each one's streams have a name space, and so a log, of their own. */
export const ownNamespace = (): string => `t${randomUUID()}.`;

/** However long it takes in all, for what is not about how soon a call gives up. */
const PATIENT: Partial<CallLimits> = { call_ms: 120_000, outage_ms: 120_000 };

/** A store whose calls do not give up, unless `limits` says so. */
export function openStore(
  url: string,
  options: Partial<EventStoreDbOptions> = {},
): Promise<EventStoreDbEventStore> {
  return EventStoreDbEventStore.open({ url, realm: 'live', limits: PATIENT, ...options });
}

/** A store that gives up as soon as the service does. */
export function openImpatientStore(url: string): Promise<EventStoreDbEventStore> {
  return openStore(url, { limits: DEFAULT_LIMITS });
}
