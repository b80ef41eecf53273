import { AnswerInfos } from '../../../shared/client/answer-info';

const written = (position: string) => new Headers({ 'x-catalog-position': position, etag: `"${position}"` });

test('position is the position of the newest write, in whatever order the responses arrive', () => {
  const infos = new AnswerInfos();
  expect(infos.position).toBeUndefined();
  infos.recordPosition({}, 200, new Headers({ etag: '"1"' }));
  // The position of a read is not one of a write.
  infos.record({}, 200, written('50'));
  expect(infos.position).toBeUndefined();
  for (const position of ['9', '10', '2']) infos.recordPosition({}, 201, written(position));
  expect(infos.position).toBe('10');
});

test('status and headers are stored under the returned object itself, not under copies of it', () => {
  const infos = new AnswerInfos();
  const tea = infos.record({ id: 'tea' }, 200, written('7'));
  expect(infos.get(tea)).toMatchObject({ status: 200, etag: '"7"', position: '7', replayed: false });
  expect(infos.get({ ...tea })).toBeUndefined();
  expect(infos.etagOf(tea)).toBe('"7"');
  expect(infos.etagOf('"8"')).toBe('"8"');
  expect(() => infos.etagOf({ ...tea })).toThrow(TypeError);
});
