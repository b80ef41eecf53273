import { setImmediate as nextTurn } from 'node:timers/promises';
import { serialiseByStream } from '../../../services/command/write-queue';
import { streamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import { MemoryEventStore } from '../../support/memory-event-store';
import { within } from '../../support/wait-for';

const STREAM = streamName('live', 'publication', '0198f0b0-0000-7000-8000-000000000001');
const outage = new CatalogError('unavailable');

test('writes to one stream run one after another, even if one is rejected', async () => {
  const events = new MemoryEventStore();
  const order: string[] = [];
  const one = serialiseByStream(events, STREAM, async () => {
    order.push('the first one begins');
    await nextTurn();
    order.push('the first one fails');
    throw new CatalogError('precondition_failed');
  });
  const two = serialiseByStream(events, STREAM, async () => {
    order.push('the second one begins');
    return 'done';
  });
  await expect(within(one, 'the first write')).rejects.toMatchObject({ condition: 'precondition_failed' });
  expect(await within(two, 'the second write')).toBe('done');
  expect(order).toEqual(['the first one begins', 'the first one fails', 'the second one begins']);
});

test('if the event store is unavailable, queued writes fail with the running one; a later write runs', async () => {
  const events = new MemoryEventStore();
  const failing = jest.fn(async () => {
    await nextTurn();
    throw outage;
  });
  const waiting = [1, 2, 3].map(() => serialiseByStream(events, STREAM, failing));
  expect(await within(Promise.allSettled(waiting), 'the writes to fail')).toEqual(
    waiting.map(() => ({ status: 'rejected', reason: outage })),
  );
  expect(failing).toHaveBeenCalledTimes(1);
  expect(await serialiseByStream(events, STREAM, async () => 'back')).toBe('back');
});
