import { Memory } from '../../../shared/client/memory';

const written = (position: string) => new Headers({ 'x-catalog-position': position, etag: `"${position}"` });

test('the position is that of the newest write, in whatever order the answers come', () => {
  const memory = new Memory();
  expect(memory.position).toBeUndefined();
  memory.note({}, 200, new Headers({ etag: '"1"' }));
  expect(memory.position).toBeUndefined();
  for (const position of ['9', '10', '2']) memory.note({}, 201, written(position));
  expect(memory.position).toBe('10');
});

test('an answer is known by the very data that it gave', () => {
  const memory = new Memory();
  const tea = memory.note({ id: 'tea' }, 200, written('7'));
  expect(memory.of(tea)).toMatchObject({ status: 200, etag: '"7"', position: '7', replayed: false });
  expect(memory.of({ ...tea })).toBeUndefined();
  expect(memory.etag(tea)).toBe('"7"');
  expect(memory.etag('"8"')).toBe('"8"');
  expect(() => memory.etag({ ...tea })).toThrow(TypeError);
});
