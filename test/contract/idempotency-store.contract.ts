import type { Claim, IdempotencyStore, KeptAnswer } from '../../shared/ports/idempotency-store';

/** A store that has seen nothing; `again` shares what it keeps as another process would. */
export interface IdempotencyStoreUnderTest {
  readonly store: IdempotencyStore;
  readonly again: () => Promise<IdempotencyStore>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
const DAY_MS = 86_400_000;
const KEY = { api_key_id: 'key-a', idempotency_key: 'once' };
const CREATED: KeptAnswer = {
  status: 201,
  headers: { Location: '/api/x/1' },
  body: '{"data":"ключ ’ \\u0000"}',
};

const claim = (changes: Partial<Claim> = {}): Claim => {
  const now_ms = changes.now_ms ?? NOON_MS;
  const times = { now_ms, locked_until_ms: now_ms + 10_000, expires_at_ms: now_ms + DAY_MS };
  return { fingerprint: 'print', holder: 'one', ...times, ...changes };
};

/** What every idempotency store promises (shared/ports/idempotency-store.ts). */
export function idempotencyStoreContract(name: string, open: () => Promise<IdempotencyStoreUnderTest>): void {
  describe(`idempotency store on ${name}`, () => {
    let given: IdempotencyStoreUnderTest;
    let store: IdempotencyStore;

    beforeEach(async () => {
      given = await open();
      store = given.store;
    });
    afterEach(() => given.dispose());

    const first = { outcome: 'claimed', started_at_ms: NOON_MS, resumed: false };
    const kept = { outcome: 'answered', answer: CREATED };

    test('the first claim holds the lock, a second is told until when', async () => {
      expect(await store.claim(KEY, claim())).toEqual(first);
      const second = await store.claim(KEY, claim({ holder: 'two', now_ms: NOON_MS + 1 }));
      expect(second).toEqual({ outcome: 'locked', locked_until_ms: NOON_MS + 10_000 });
    });

    test('the answer is given as it was kept, until it expires', async () => {
      await store.claim(KEY, claim());
      await store.keep(KEY, 'one', CREATED, NOON_MS + DAY_MS);
      expect(await store.claim(KEY, claim({ holder: 'two' }))).toEqual(kept);
      const last_ms = NOON_MS + DAY_MS - 1;
      expect(await store.claim(KEY, claim({ holder: 'two', now_ms: last_ms }))).toEqual(kept);
      const next_ms = NOON_MS + DAY_MS;
      const anew = await store.claim(KEY, claim({ holder: 'two', now_ms: next_ms, fingerprint: 'new' }));
      expect(anew).toEqual({ ...first, started_at_ms: next_ms });
    });

    test('another fingerprint is another request: while it runs, when it is answered, when it was released', async () => {
      const other = claim({ holder: 'two', fingerprint: 'other' });
      await store.claim(KEY, claim());
      expect(await store.claim(KEY, other)).toEqual({ outcome: 'other_request' });
      await store.release(KEY, 'one');
      expect(await store.claim(KEY, other)).toEqual({ outcome: 'other_request' });
      await store.claim(KEY, claim());
      await store.keep(KEY, 'one', CREATED, NOON_MS + DAY_MS);
      expect(await store.claim(KEY, other)).toEqual({ outcome: 'other_request' });
    });

    test('keys of two API keys, and keys that look alike, have nothing to do with each other', async () => {
      const keys = [
        KEY,
        { ...KEY, api_key_id: 'key-b' },
        { ...KEY, idempotency_key: 'Once' },
        { ...KEY, idempotency_key: "once' OR 1=1" },
        { api_key_id: 'key-a:once', idempotency_key: '' },
        { ...KEY, idempotency_key: 'é'.repeat(255) },
      ];
      for (const key of keys) expect(await store.claim(key, claim())).toEqual(first);
    });

    test('a lock whose time is over is given on; the operation began when it first did', async () => {
      await store.claim(KEY, claim());
      const later = claim({ holder: 'two', now_ms: NOON_MS + 10_000 });
      expect(await store.claim(KEY, later)).toEqual({ ...first, resumed: true });
    });

    test('a renewed lock holds on', async () => {
      await store.claim(KEY, claim());
      await store.renew(KEY, 'one', NOON_MS + 30_000);
      const later = await store.claim(KEY, claim({ holder: 'two', now_ms: NOON_MS + 29_999 }));
      expect(later).toEqual({ outcome: 'locked', locked_until_ms: NOON_MS + 30_000 });
    });

    test('a released operation is resumed at once, a forgotten one begins anew', async () => {
      await store.claim(KEY, claim());
      await store.release(KEY, 'one');
      const later = claim({ holder: 'two', now_ms: NOON_MS + 5 });
      expect(await store.claim(KEY, later)).toEqual({ ...first, resumed: true });
      await store.forget(KEY, 'two');
      const anew = await store.claim(KEY, { ...later, fingerprint: 'other' });
      expect(anew).toEqual({ ...first, started_at_ms: NOON_MS + 5 });
    });

    test('who holds the lock no more changes nothing', async () => {
      await store.claim(KEY, claim());
      await store.claim(KEY, claim({ holder: 'two', now_ms: NOON_MS + 10_000 }));
      await store.renew(KEY, 'one', NOON_MS + DAY_MS);
      await store.keep(KEY, 'one', { ...CREATED, status: 404 }, NOON_MS + DAY_MS);
      await store.release(KEY, 'one');
      await store.forget(KEY, 'one');
      const third = await store.claim(KEY, claim({ holder: 'three', now_ms: NOON_MS + 10_001 }));
      expect(third).toEqual({ outcome: 'locked', locked_until_ms: NOON_MS + 20_000 });
      await store.keep(KEY, 'two', CREATED, NOON_MS + DAY_MS);
      await store.forget(KEY, 'two');
      expect(await store.claim(KEY, claim({ holder: 'three' }))).toEqual(kept);
    });

    test('of many that claim at once in several processes one holds the lock', async () => {
      const stores = [store, await given.again(), await given.again()];
      const claimed = await Promise.all(
        Array.from({ length: 60 }, (_, n) => stores[n % 3]!.claim(KEY, claim({ holder: `holder-${n}` }))),
      );
      expect(claimed.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(1);
      expect(claimed.filter(({ outcome }) => outcome === 'locked')).toHaveLength(59);
    });

    test('what is kept outlives the process', async () => {
      await store.claim(KEY, claim());
      await store.keep(KEY, 'one', CREATED, NOON_MS + DAY_MS);
      await store.close();
      const again = await given.again();
      expect(await again.claim(KEY, claim({ holder: 'two' }))).toEqual(kept);
    });

    test('it says whether it can be asked', async () => {
      await store.check();
      await store.close();
      await expect(store.check()).rejects.toMatchObject({ condition: 'unavailable' });
    });
  });
}
