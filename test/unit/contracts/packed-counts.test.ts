import fc from 'fast-check';
import { decodeEvent } from '../../../shared/catalog/events/codec';
import {
  isPacked,
  type PageViewEvent,
  packCounts,
  unpackCounts,
  viewsIn,
} from '../../../shared/catalog/publication/page-views';
import { cases } from '../../support/long';

const anyCounts = fc.dictionary(fc.uuid(), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), {
  maxKeys: 50,
});

test('packed counts are the same counts again', () => {
  fc.assert(
    fc.property(anyCounts, (counts) => {
      const packed = packCounts(counts);
      expect(isPacked(packed)).toBe(true);
      expect(unpackCounts(packed)).toEqual(counts);
    }),
    cases(),
  );
});

test('ids of the same days take less than half of their JSON', () => {
  const counts: Record<string, number> = {};
  for (let n = 0; n < 500; n++) {
    const time = (0x0194_1f29_0000 + n * 500_000).toString(16).padStart(12, '0');
    counts[`${time.slice(0, 8)}-${time.slice(8)}-7abc-8def-${String(n * 7_919).padStart(12, '9')}`] =
      1 + (n % 90);
  }
  expect(packCounts(counts).length).toBeLessThan(500 * 19);
});

test('refuses what is no packed counts', () => {
  const packed = packCounts({ '01941f29-7c03-74d7-8245-cc1b5751db2f': 5 });
  for (const text of [packed.slice(0, -4), `${packed}AAAA`, 'AAAA', '***'])
    expect(isPacked(text)).toBe(false);
});

test('events of earlier releases, which count by id, are still read', () => {
  const counts = { '01941f29-7c03-74d7-8245-cc1b5751db2f': 5 };
  const read = (type: string, data: { counts: string | Record<string, number> }) =>
    viewsIn(decodeEvent({ type, schema_version: 1, data }) as PageViewEvent);
  expect(read('PublicationsViewed', { counts })).toEqual(counts);
  expect(read('PageViewsCounted', { counts: packCounts(counts) })).toEqual(counts);
});
