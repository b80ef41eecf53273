import { FairQueue } from '../../../shared/adapters/in-process/fair-queue';

/** Takes the next item, `<owner><number>`, and processes it for `duration_ms`. */
function process(queue: FairQueue<string>, durations_ms: Record<string, number>): string | undefined {
  const item = queue.take();
  if (item !== undefined) queue.end(item[0]!, durations_ms[item[0]!]!);
  return item;
}

function add(queue: FairQueue<string>, ...items: string[]): void {
  for (const item of items) queue.add(item[0]!, item, item);
}

const all = (queue: FairQueue<string>, durations_ms: Record<string, number>): string[] => {
  const taken: string[] = [];
  for (;;) {
    const item = process(queue, durations_ms);
    if (item === undefined) return taken;
    taken.push(item);
  }
};

test('owners take turns if their items take the same time', () => {
  const queue = new FairQueue<string>(100);
  add(queue, 'a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1');
  expect(all(queue, { a: 5, b: 5, c: 5 })).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

test('an owner whose items take long gets the same share of the time', () => {
  const queue = new FairQueue<string>(100);
  add(queue, 'a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'b4', 'b5');
  expect(all(queue, { a: 20, b: 10 })).toEqual(['a1', 'b1', 'b2', 'a2', 'b3', 'b4', 'a3', 'b5']);
});

test('an owner that adds its long items one by one gets no more than its share', () => {
  const queue = new FairQueue<string>(100);
  add(queue, 'a1', ...Array.from({ length: 9 }, (_, n) => `b${n + 1}`));
  const taken: string[] = [];
  for (let n = 0; n < 8; n++) {
    const item = process(queue, { a: 40, b: 10 })!;
    taken.push(item);
    if (item === 'a1') add(queue, 'a2');
  }
  expect(taken).toEqual(['a1', 'b1', 'b2', 'b3', 'b4', 'a2', 'b5', 'b6']);
});

test('an owner that had nothing to do does not save up time', () => {
  const queue = new FairQueue<string>(100);
  add(queue, 'a1', 'a2', 'a3', 'a4', 'a5');
  for (let n = 0; n < 3; n++) process(queue, { a: 10, b: 10 });
  add(queue, 'b1', 'b2', 'b3');
  expect(all(queue, { a: 10, b: 10 })).toEqual(['b1', 'a4', 'b2', 'a5', 'b3']);
});

test('an item that waits is not added again', () => {
  const queue = new FairQueue<string>(100);
  add(queue, 'a1', 'a1', 'b1');
  expect(queue.has('a', 'a1')).toBe(true);
  expect(all(queue, { a: 1, b: 1 })).toEqual(['a1', 'b1']);
  expect(queue.has('a', 'a1')).toBe(false);
});

test('a full queue drops the newest item of the owner with the most items', () => {
  const queue = new FairQueue<string>(4);
  add(queue, 'a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'a5');
  expect(all(queue, { a: 1, b: 1 })).toEqual(['a1', 'b1', 'a2', 'b2']);
});
