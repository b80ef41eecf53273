import { pino } from 'pino';
import { ControlLog } from '../../../services/auth/control-log';
import { type RecordedEvent, streamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import type { ActiveView } from '../../../shared/ports/document-reader';
import type { DeadLetter } from '../../../shared/ports/view-store';
import { MemoryEventStore } from '../../support/memory-event-store';
import { waitFor, within } from '../../support/wait-for';

const key = (id: string) => streamName('control', 'api_key', id);
const LIMITS = { limits: { per_minute: 1, per_day: 1, burst: 1 } };

/** A log of the control realm, and documents of which the test moves the checkpoint. */
function controlRealm() {
  const events = new MemoryEventStore();
  const documents = { checkpoint: 0n, dead_letters: [] as Pick<DeadLetter, 'position'>[] };
  const view = {
    checkpoints: async () => [documents.checkpoint, 1_000_000n],
    deadLetters: async () => documents.dead_letters,
  };
  const control_view = { current: async () => view } as unknown as ActiveView;
  const push = (id: string, type: string, data = {}): Promise<RecordedEvent> =>
    events.push(key(id), type, data, 'account');
  const follow = (prune_every_ms?: number) => {
    const options = prune_every_ms === undefined ? {} : { prune_every_ms };
    return new ControlLog({ events, control_view, log: pino({ level: 'silent' }), ...options });
  };
  const typesOf = (log: ControlLog, id: string) => log.api_keys.get(id)?.map(({ event }) => event.type);
  return { events, documents, push, follow, typesOf };
}

test('contains what the documents lack at the start, and what follows', async () => {
  const { documents, push, follow, typesOf } = controlRealm();
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
  const { documents, push, follow, typesOf } = controlRealm();
  const { position } = await push('a', 'ApiKeyLimitsSet', LIMITS);
  documents.checkpoint = (await push('a', 'ApiKeyRevoked')).position;
  documents.dead_letters.push({ position });
  const log = follow();
  await within(log.ready, 'the changes from before the start');
  expect(typesOf(log, 'a')).toEqual(['ApiKeyLimitsSet', 'ApiKeyRevoked']);
  await log.stop();
});

test('drops changes only when the documents have contained them for a while', async () => {
  const { documents, push, follow, typesOf } = controlRealm();
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
  const { events, push, follow, typesOf } = controlRealm();
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

test('tokens do not wait for an event store that cannot be reached', async () => {
  const { events, follow } = controlRealm();
  jest.spyOn(events, 'head').mockRejectedValue(new CatalogError('unavailable'));
  jest.spyOn(events, 'subscribe').mockImplementation(async function* ({ signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const log = follow();
  await within(log.ready, 'tokens to be checked', 2_000);
  await log.stop();
});
