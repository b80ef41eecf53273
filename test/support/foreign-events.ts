import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { binaryEvent, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import Database from 'libsql';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import type { StreamName } from '../../shared/catalog/events/envelope';
import type { EventStore } from '../../shared/ports/event-store';
import { EventStoreServer, openStore, ownNamespace } from './eventstore-standin/server-under-test';
import { makeTempDir } from './temp-dir';

/** An event that another program wrote: its payload and metadata as raw text. */
export interface Foreign {
  readonly data: string;
  readonly metadata: string;
}

/** A log into which a test can write past the service's code. */
export interface OpenLog {
  readonly events: EventStore;
  write(stream: StreamName, type: string, foreign: Foreign): Promise<void>;
  close(): Promise<void>;
}

export async function openSqliteLog(): Promise<OpenLog> {
  const folder = makeTempDir();
  const file = join(folder.path, 'events.sqlite');
  const events = await SqliteEventStore.open({ file });
  const database = new Database(file);
  const insert = database.prepare(
    `INSERT INTO events (stream, revision, id, type, schema_version, data, metadata)
     SELECT ?1, coalesce(max(revision), -1) + 1, ?2, ?3, 1, ?4, ?5 FROM events WHERE stream = ?1`,
  );
  return {
    events,
    write: async (stream, type, { data, metadata }) => {
      insert.run([stream, randomUUID(), type, data, metadata]);
    },
    close: async () => {
      database.close();
      await events.close();
      folder.remove();
    },
  };
}

/** Opens a log on the environment's server, or on the stand-in. */
export async function openEventStoreDbLog(): Promise<OpenLog> {
  const server = new EventStoreServer();
  await server.start();
  const namespace = ownNamespace();
  const events = await openStore(server.url, { namespace });
  const client = EventStoreDBClient.connectionString`${server.url}`;
  return {
    events,
    write: async (stream, type, { data, metadata }) => {
      await client.appendToStream(`${namespace}${stream}`, foreignEvent(type, data, metadata));
    },
    close: async () => {
      await client.dispose();
      await events.close();
      await server.stop();
    },
  };
}

/** The server refuses invalid JSON, so such a payload is sent as binary. */
function foreignEvent(type: string, data: string, metadata: string) {
  const id = randomUUID();
  const note = parsed(metadata) ?? Buffer.from(metadata);
  const json = parsed(data);
  return json === undefined
    ? binaryEvent({ id, type, data: Buffer.from(data), metadata: note as never })
    : jsonEvent({ id, type, data: json as never, metadata: note as never });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
