import { inTurn } from '../../../services/command/execute';
import { streamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import { MemoryEventStore } from '../../support/memory-event-store';

const STREAM = streamName('live', 'publication', '0198f0b0-0000-7000-8000-000000000001');
const away = new CatalogError('unavailable');

/** Ends when it is told. */
function aWrite() {
  let resolve: (value: string) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<string>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { started: jest.fn(() => promise), resolve, reject };
}

test('writes to one stream run one after the other, whatever becomes of the one before', async () => {
  const events = new MemoryEventStore();
  const [first, second] = [aWrite(), aWrite()];
  const one = inTurn(events, STREAM, first.started);
  const two = inTurn(events, STREAM, second.started);
  await Promise.resolve();
  expect(second.started).not.toHaveBeenCalled();
  first.reject(new CatalogError('precondition_failed'));
  await expect(one).rejects.toMatchObject({ condition: 'precondition_failed' });
  second.resolve('done');
  expect(await two).toBe('done');
});

test('where the store is away, those that wait fail with the one whose turn it is; the next tries again', async () => {
  const events = new MemoryEventStore();
  const writes = [aWrite(), aWrite(), aWrite()];
  const waiting = writes.map(({ started }) => inTurn(events, STREAM, started));
  await Promise.resolve();
  writes[0]!.reject(away);
  expect(await Promise.allSettled(waiting)).toEqual(writes.map(() => ({ status: 'rejected', reason: away })));
  expect(writes.map(({ started }) => started.mock.calls.length)).toEqual([1, 0, 0]);
  expect(await inTurn(events, STREAM, async () => 'back')).toBe('back');
});
