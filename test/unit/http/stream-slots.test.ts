import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { StreamSlots } from '../../../shared/http/stream-slots';
import { errorOf } from '../command/support';

/** A response that closes when it is destroyed. */
class FakeResponse extends EventEmitter {
  closed = false;
  destroy(): void {
    this.closed = true;
    this.emit('close');
  }
}

/** Pieces that are read one by one. */
async function* pieces(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.from('piece');
}

let now_ms = 0;
beforeEach(() => {
  now_ms = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now_ms);
});
afterEach(() => jest.restoreAllMocks());

const slots = () => new StreamSlots({ what: 'exports', per_key: 2, in_all: 3 });
/** Starts an answer. `read` takes its next piece. */
function start(of: StreamSlots, api_key_id: string, make: () => AsyncGenerator<Uint8Array> = pieces) {
  const response = new FakeResponse();
  const reading = of
    .take(
      response as unknown as ServerResponse,
      api_key_id,
    )(make())
    [Symbol.asyncIterator]();
  return { response, read: () => reading.next() };
}
const refusalOf = (of: StreamSlots, api_key_id: string) => errorOf(async () => start(of, api_key_id));

test('refuses more answers of a key, and more in all, until one of them has closed', async () => {
  const some = slots();
  const [first] = [start(some, 'a'), start(some, 'a')];
  expect(await refusalOf(some, 'a')).toMatchObject({
    condition: 'rate_limited',
    retry_after_s: 5,
    message: 'At most 2 exports of a key run at the same time',
  });
  start(some, 'b');
  expect(await refusalOf(some, 'c')).toMatchObject({
    condition: 'rate_limited',
    message: 'At most 3 exports run at the same time',
  });
  first!.response.destroy();
  start(some, 'c');
});

test('cuts the answer that its client has not read for the longest time', async () => {
  const some = slots();
  const [first, second] = [start(some, 'a'), start(some, 'a')];
  for (const each of [first!, second!]) await each.read();
  now_ms = 1_000;
  await second!.read();
  expect(await refusalOf(some, 'a')).toMatchObject({ condition: 'rate_limited' });
  now_ms = 2_500;
  start(some, 'a');
  expect([first!.response.closed, second!.response.closed]).toEqual([true, false]);
});

test('does not cut an answer whose next piece is being made', async () => {
  const some = slots();
  const making = start(some, 'a', async function* () {
    yield Buffer.from('piece');
    await new Promise(() => {});
  });
  await making.read();
  void making.read();
  const unread = start(some, 'a');
  await unread.read();
  now_ms = 10_000;
  start(some, 'a');
  expect([making.response.closed, unread.response.closed]).toEqual([false, true]);
});
