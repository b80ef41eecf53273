import { serialiseByStream } from '../../../services/command/write-queue';
import { streamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import { MemoryEventStore } from '../../support/memory-event-store';
import { within } from '../../support/wait-for';

const STREAM = streamName('live', 'publication', '0198f0b0-0000-7000-8000-000000000001');
const outage = new CatalogError('unavailable');

/** A write that the test resolves or rejects. */
function controlledWrite() {
  let resolve: (value: string) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<string>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { started: jest.fn(() => promise), resolve, reject };
}

test('writes to one stream run one after another, even if one is rejected', async () => {
  const events = new MemoryEventStore();
  const [first, second] = [controlledWrite(), controlledWrite()];
  const one = serialiseByStream(events, STREAM, first.started);
  const two = serialiseByStream(events, STREAM, second.started);
  await Promise.resolve();
  expect(second.started).not.toHaveBeenCalled();
  first.reject(new CatalogError('precondition_failed'));
  await expect(within(one, 'the first write')).rejects.toMatchObject({ condition: 'precondition_failed' });
  second.resolve('done');
  expect(await within(two, 'the second write')).toBe('done');
});

test('if the event store is unavailable, queued writes fail with the running one; a later write runs', async () => {
  const events = new MemoryEventStore();
  const writes = [controlledWrite(), controlledWrite(), controlledWrite()];
  const waiting = writes.map(({ started }) => serialiseByStream(events, STREAM, started));
  await Promise.resolve();
  writes[0]!.reject(outage);
  expect(await within(Promise.allSettled(waiting), 'the writes to fail')).toEqual(
    writes.map(() => ({ status: 'rejected', reason: outage })),
  );
  expect(writes.map(({ started }) => started.mock.calls.length)).toEqual([1, 0, 0]);
  expect(await serialiseByStream(events, STREAM, async () => 'back')).toBe('back');
});
