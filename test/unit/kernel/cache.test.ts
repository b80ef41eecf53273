import { TtlCache } from '../../../shared/kernel/cache';

describe('TtlCache', () => {
  test('evicts the oldest entry above entries_max, and does not cache failures', async () => {
    let loads = 0;
    let fails = true;
    const load = async (key: string): Promise<string> => {
      loads++;
      if (fails) throw new Error('down');
      return key;
    };
    const cache = new TtlCache<string>({ ttl_ms: 1000, entries_max: 2, now: () => 0, load });
    await expect(cache.get('a')).rejects.toThrow('down');
    fails = false;
    for (const key of ['a', 'b', 'b', 'c', 'a']) expect(await cache.get(key)).toBe(key);
    expect(loads).toBe(5);
  });

  test('loads again if the clock was set back', async () => {
    let now_ms = 5000;
    let loads = 0;
    const cache = new TtlCache<number>({
      ttl_ms: 1000,
      entries_max: 2,
      now: () => now_ms,
      load: async () => ++loads,
    });
    await cache.get('a');
    now_ms = 0;
    expect(await cache.get('a')).toBe(2);
  });
});
