import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { ControlLog } from '../../../services/auth/control-log';
import { type RecordedEvent, START, streamName } from '../../../shared/catalog/events/envelope';
import { CatalogError, LogMismatchError } from '../../../shared/kernel/errors';
import type { ActiveView } from '../../../shared/ports/document-reader';
import { type EventStore, NO_STREAM } from '../../../shared/ports/event-store';
import type { DeadLetter } from '../../../shared/ports/view-store';
import { openStore } from '../../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../../support/eventstore-standin/standin';
import { MemoryEventStore } from '../../support/memory-event-store';
import { makeTempDir } from '../../support/temp-dir';
import { waitFor, within } from '../../support/wait-for';

const key = (id: string) => streamName('control', 'api_key', id);
const LIMITS = { limits: { per_minute: 1, per_day: 1, burst: 1 } };

/** Documents of the control realm of which the test moves the checkpoint. */
function controlDocuments() {
  const documents = { checkpoint: START, dead_letters: [] as RecordedEvent[] };
  const view = {
    checkpoints: async () => [documents.checkpoint, 1_000_000n],
    deadLetters: async () => documents.dead_letters as Pick<DeadLetter, 'stream' | 'revision' | 'position'>[],
  };
  return { documents, control_view: { current: async () => view } as unknown as ActiveView };
}

const typesOf = (log: ControlLog, id: string) => log.api_keys.get(id)?.map(({ event }) => event.type);

/** A log of the control realm, and its documents. */
function controlRealm() {
  const events = new MemoryEventStore();
  const { documents, control_view } = controlDocuments();
  /** The lines that `follow` has logged. */
  const logged: { level: string; err: { type: string } }[] = [];
  const log = pino(
    { level: 'debug', formatters: { level: (level) => ({ level }) } },
    { write: (line) => logged.push(JSON.parse(line)) },
  );
  const push = (id: string, type: string, data = {}): Promise<RecordedEvent> =>
    events.push(key(id), type, data, 'account');
  const follow = (prune_every_ms?: number) => {
    const options = prune_every_ms === undefined ? {} : { prune_every_ms };
    return new ControlLog({ events, control_view, log, ...options });
  };
  return { events, documents, logged, push, follow };
}

test('contains what the documents lack at the start, and what follows', async () => {
  const { documents, push, follow } = controlRealm();
  documents.checkpoint = (await push('a', 'ApiKeyLimitsSet', LIMITS)).position;
  await push('b', 'ApiKeyRevoked');
  const log = follow();
  await within(log.ready, 'the changes from before the start');
  expect([typesOf(log, 'a'), typesOf(log, 'b')]).toEqual([undefined, ['ApiKeyRevoked']]);
  await push('a', 'ApiKeyUsed');
  await push('a', 'ApiKeyRevoked');
  await waitFor(() => typesOf(log, 'a'));
  expect(log.api_keys.get('a')).toMatchObject([{ event: { type: 'ApiKeyRevoked' }, revision: 2 }]);
  await log.stop();
});

test('contains the events of a dead letter, although the checkpoint is after them', async () => {
  const { documents, push, follow } = controlRealm();
  await push('a', 'ApiKeyLimitsSet', LIMITS);
  documents.dead_letters.push(await push('a', 'ApiKeyLimitsSet', LIMITS));
  documents.checkpoint = (await push('a', 'ApiKeyRevoked')).position;
  await push('b', 'ApiKeyRevoked');
  const log = follow();
  await within(log.ready, 'the changes from before the start');
  expect(typesOf(log, 'a')).toEqual(['ApiKeyLimitsSet', 'ApiKeyRevoked']);
  await log.stop();
});

test('reads a dead letter with more events than one read of its stream', async () => {
  const { events, documents, push, follow } = controlRealm();
  documents.dead_letters.push(await push('a', 'ApiKeyLimitsSet', LIMITS));
  for (let used = 0; used < 1_000; used++) await push('a', 'ApiKeyUsed');
  documents.checkpoint = (await push('a', 'ApiKeyRevoked')).position;
  await push('b', 'ApiKeyRevoked');
  const reads = jest.spyOn(events, 'readStream');
  const log = follow();
  await within(log.ready, 'the changes from before the start');
  expect(typesOf(log, 'a')).toEqual(['ApiKeyLimitsSet', 'ApiKeyRevoked']);
  expect(reads.mock.calls.length).toBeGreaterThan(1);
  await log.stop();
});

test('keeps the changes of a dead letter, although the checkpoint is after them', async () => {
  const { documents, push, follow } = controlRealm();
  documents.dead_letters.push(await push('a', 'ApiKeyRevoked'));
  documents.checkpoint = (await push('b', 'ApiKeyUsed')).position;
  const log = follow(0);
  await push('c', 'ApiKeyRevoked');
  await waitFor(() => typesOf(log, 'c'));
  // Time for two calls of `prune`, which would drop the change.
  for (const subscribed of ['d', 'e', 'f']) {
    documents.checkpoint = (await push(subscribed, 'ApiKeyRevoked')).position;
    await waitFor(() => typesOf(log, subscribed));
  }
  expect(typesOf(log, 'a')).toEqual(['ApiKeyRevoked']);
  await log.stop();
});

test('follows the log of an EventStoreDB past a dead letter', async () => {
  const folder = makeTempDir();
  const server = await EventStoreStandIn.start({ folder: folder.path });
  const events: EventStore = await openStore(server.url, { realm: 'control' });
  const { documents, control_view } = controlDocuments();
  const append = async (id: string, ...types: string[]): Promise<RecordedEvent[]> => {
    const metadata = {
      occurred_at: '2026-01-01T00:00:00.000Z',
      partition_key: 'account',
      source: 'system',
    } as const;
    const encoded = types.map((type) => ({ id: randomUUID(), type, schema_version: 1, data: {}, metadata }));
    await events.append(key(id), NO_STREAM, encoded);
    return events.readStream(key(id));
  };
  const [, refused] = await append('a', 'ApiKeyUsed', 'ApiKeyRevoked');
  documents.dead_letters.push(refused!);
  documents.checkpoint = (await append('b', 'ApiKeyRevoked'))[0]!.position;
  const log = new ControlLog({ events, control_view, log: pino({ level: 'silent' }) });
  try {
    await append('c', 'ApiKeyRevoked');
    await waitFor(() => typesOf(log, 'c'));
    expect([typesOf(log, 'a'), typesOf(log, 'b')]).toEqual([['ApiKeyRevoked'], undefined]);
  } finally {
    await log.stop();
    await events.close();
    await server.stop();
    folder.remove();
  }
});

test('drops changes only when the documents have contained them for a while', async () => {
  const { documents, push, follow } = controlRealm();
  const log = follow(0);
  await push('a', 'ApiKeyRevoked');
  await waitFor(() => typesOf(log, 'a'));
  documents.checkpoint = (await push('b', 'ApiKeyUsed')).position;
  await waitFor(async () => {
    await push('b', 'ApiKeyUsed');
    return log.api_keys.size === 0;
  });
  await log.stop();
});

test('follows other keys if an event cannot be read, and goes on after a failure', async () => {
  const { events, push, follow } = controlRealm();
  jest.spyOn(events, 'subscribe').mockImplementationOnce(() => {
    throw new Error('the subscription failed');
  });
  await push('a', 'ApiKeyOfTheNextRelease');
  await push('b', 'ApiKeyRevoked');
  const log = follow();
  await waitFor(() => typesOf(log, 'b'));
  expect(typesOf(log, 'a')).toBeUndefined();
  await log.stop();
});

test('warns once for each cause that it cannot follow the log, also of a log that lacks the checkpoint', async () => {
  const { events, logged, follow } = controlRealm();
  const failures = [new CatalogError('unavailable'), new LogMismatchError('No event begins at position 7.')];
  const subscribe = jest.spyOn(events, 'subscribe').mockImplementation(() => {
    throw failures.at(Math.min(subscribe.mock.calls.length, failures.length) - 1);
  });
  const log = follow();
  await waitFor(() => subscribe.mock.calls.length > 3);
  await log.stop();
  expect(logged.slice(0, 3).map(({ level, err }) => [level, err.type])).toEqual([
    ['warn', 'CatalogError'],
    ['warn', 'LogMismatchError'],
    ['debug', 'LogMismatchError'],
  ]);
});

test('tokens do not wait for an event store that cannot be reached', async () => {
  const { events, follow } = controlRealm();
  jest.spyOn(events, 'head').mockRejectedValue(new CatalogError('unavailable'));
  jest.spyOn(events, 'subscribe').mockImplementation(async function* ({ signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const log = follow();
  await within(log.ready, 'tokens to be checked');
  await log.stop();
});
