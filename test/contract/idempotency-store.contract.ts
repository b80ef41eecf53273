import { randomBytes } from 'node:crypto';
import type { Claim, IdempotencyStore, RenderedAnswer } from '../../shared/ports/idempotency-store';
import { bounded } from '../support/bounded';
import { within } from '../support/wait-for';

/** An empty store. `openAnother` opens the same store as another process would. */
export interface IdempotencyStoreUnderTest {
  readonly store: IdempotencyStore;
  readonly openAnother: () => Promise<IdempotencyStore>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
const DAY_MS = 86_400_000;
const KEY = { api_key_id: 'key-a', idempotency_key: 'once' };
const CREATED: RenderedAnswer = {
  status: 201,
  headers: { Location: '/api/x/1' },
  body: '{"data":"ключ ’ \\u0000"}',
};

const claim = (changes: Partial<Claim> = {}): Claim => {
  const now_ms = changes.now_ms ?? NOON_MS;
  const times = { now_ms, locked_until_ms: now_ms + 10_000, expires_at_ms: now_ms + DAY_MS };
  return { fingerprint: 'print', holder: 'one', ...times, records_max: 1_000, ...changes };
};

/** Tests what every idempotency store guarantees (shared/ports/idempotency-store.ts). */
export function idempotencyStoreContract(name: string, open: () => Promise<IdempotencyStoreUnderTest>): void {
  describe(`idempotency store on ${name}`, () => {
    let under_test: IdempotencyStoreUnderTest;
    let store: IdempotencyStore;

    beforeEach(async () => {
      under_test = await open();
      store = bounded(under_test.store, 'idempotency store');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    const first = { outcome: 'claimed', started_at_ms: NOON_MS, resumed: false };
    const kept = { outcome: 'answered', answer: CREATED };

    test('the first claim gets the lock; a second one does not, until the lock ends', async () => {
      expect(await store.claim(KEY, claim())).toEqual(first);
      const claimAt = (now_ms: number) => store.claim(KEY, claim({ holder: 'two', now_ms }));
      expect(await claimAt(NOON_MS + 9_999)).toEqual({ outcome: 'locked' });
      expect(await claimAt(NOON_MS + 10_000)).toEqual({ ...first, resumed: true });
    });

    test('returns the stored answer until it expires', async () => {
      await store.claim(KEY, claim());
      await store.storeAnswer(KEY, 'one', CREATED, NOON_MS + DAY_MS);
      expect(await store.claim(KEY, claim({ holder: 'two' }))).toEqual(kept);
      const last_ms = NOON_MS + DAY_MS - 1;
      expect(await store.claim(KEY, claim({ holder: 'two', now_ms: last_ms }))).toEqual(kept);
      const next_ms = NOON_MS + DAY_MS;
      const new_claim = await store.claim(KEY, claim({ holder: 'two', now_ms: next_ms, fingerprint: 'new' }));
      expect(new_claim).toEqual({ ...first, started_at_ms: next_ms });
    });

    test('returns a long answer to the byte', async () => {
      const long = { ...CREATED, body: JSON.stringify({ data: 'щ’\u0000 '.repeat(5_000) }) };
      await store.claim(KEY, claim());
      await store.storeAnswer(KEY, 'one', long, NOON_MS + DAY_MS);
      expect(await store.claim(KEY, claim())).toEqual({ outcome: 'answered', answer: long });
    });

    test('another fingerprint is another request, whether the first is running, answered or released', async () => {
      const other = claim({ holder: 'two', fingerprint: 'other' });
      await store.claim(KEY, claim());
      expect(await store.claim(KEY, other)).toEqual({ outcome: 'other_request' });
      await store.release(KEY, 'one');
      expect(await store.claim(KEY, other)).toEqual({ outcome: 'other_request' });
      await store.claim(KEY, claim());
      await store.storeAnswer(KEY, 'one', CREATED, NOON_MS + DAY_MS);
      expect(await store.claim(KEY, other)).toEqual({ outcome: 'other_request' });
    });

    test('the same key of two API keys, and similar keys, are different operations', async () => {
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

    test('an expired lock can be claimed; the operation keeps its first start time', async () => {
      await store.claim(KEY, claim());
      const later = claim({ holder: 'two', now_ms: NOON_MS + 10_000 });
      expect(await store.claim(KEY, later)).toEqual({ ...first, resumed: true });
    });

    test('a renewed lock lasts longer', async () => {
      await store.claim(KEY, claim());
      expect(await store.renew(KEY, 'one', NOON_MS + 30_000)).toBe(true);
      const claimAt = (now_ms: number) => store.claim(KEY, claim({ holder: 'two', now_ms }));
      expect(await claimAt(NOON_MS + 29_999)).toEqual({ outcome: 'locked' });
      expect(await claimAt(NOON_MS + 30_000)).toEqual({ ...first, resumed: true });
    });

    test('a released operation is resumed, a discarded one starts again', async () => {
      await store.claim(KEY, claim());
      expect(await store.release(KEY, 'one')).toBe(true);
      const later = claim({ holder: 'two', now_ms: NOON_MS + 5 });
      expect(await store.claim(KEY, later)).toEqual({ ...first, resumed: true });
      expect(await store.discard(KEY, 'two')).toBe(true);
      const new_claim = await store.claim(KEY, { ...later, fingerprint: 'other' });
      expect(new_claim).toEqual({ ...first, started_at_ms: NOON_MS + 5 });
    });

    test('a holder that has lost the lock changes nothing, and is told so', async () => {
      const changesOf = async (holder: string): Promise<boolean[]> => [
        await store.renew(KEY, holder, NOON_MS + DAY_MS),
        await store.storeAnswer(KEY, holder, { ...CREATED, status: 404 }, NOON_MS + DAY_MS),
        await store.release(KEY, holder),
        await store.discard(KEY, holder),
      ];
      expect(await changesOf('no record')).toEqual([false, false, false, false]);
      await store.claim(KEY, claim());
      await store.claim(KEY, claim({ holder: 'two', now_ms: NOON_MS + 10_000 }));
      expect(await changesOf('one')).toEqual([false, false, false, false]);
      const third = await store.claim(KEY, claim({ holder: 'three', now_ms: NOON_MS + 19_999 }));
      expect(third).toEqual({ outcome: 'locked' });
      expect(await store.storeAnswer(KEY, 'two', CREATED, NOON_MS + DAY_MS)).toBe(true);
      expect(await changesOf('two')).toEqual([false, false, false, false]);
      expect(await store.claim(KEY, claim({ holder: 'three' }))).toEqual(kept);
    });

    describe('the quota of an API key', () => {
      const claimNew = (name: string, changes: Partial<Claim> = {}, of = store) =>
        of.claim({ ...KEY, idempotency_key: name }, claim({ records_max: 3, ...changes }));
      const LATER_MS = NOON_MS + 60_000;
      const later = { now_ms: LATER_MS, holder: 'later' };
      const refused = { outcome: 'quota_reached', free_at_ms: NOON_MS + DAY_MS };

      const use = async (): Promise<void> => {
        expect(await claimNew('a')).toMatchObject({ outcome: 'claimed' });
        expect(await claimNew('b', { now_ms: NOON_MS + 1 })).toMatchObject({ outcome: 'claimed' });
        expect(await claimNew('c', { now_ms: NOON_MS + 2 })).toMatchObject({ outcome: 'claimed' });
      };

      test('refuses a new key, in all processes, and says when the first record expires', async () => {
        await use();
        expect(await claimNew('d', later)).toEqual(refused);
        expect(await claimNew('d', later, await under_test.openAnother())).toEqual(refused);
        const other = { api_key_id: 'key-b', idempotency_key: 'd' };
        expect(await store.claim(other, claim({ records_max: 1 }))).toMatchObject({ outcome: 'claimed' });
      });

      test('does not affect existing keys, and counts each of them once', async () => {
        await use();
        await store.storeAnswer({ ...KEY, idempotency_key: 'a' }, 'one', CREATED, NOON_MS + DAY_MS);
        expect(await claimNew('a', later)).toEqual(kept);
        for (let n = 1; n < 5; n++) {
          const again = await claimNew('b', {
            now_ms: NOON_MS + 60_000 * n,
            expires_at_ms: NOON_MS + DAY_MS,
          });
          expect(again).toMatchObject({ outcome: 'claimed' });
        }
        expect(await claimNew('c', { ...later, fingerprint: 'other' })).toEqual({ outcome: 'other_request' });
        expect(await claimNew('d', later)).toEqual(refused);
      });

      test('has room again when a record is discarded or has expired', async () => {
        await use();
        await store.discard({ ...KEY, idempotency_key: 'a' }, 'one');
        expect(await claimNew('d', later)).toMatchObject({ outcome: 'claimed' });
        expect(await claimNew('e', later)).toEqual({ ...refused, free_at_ms: NOON_MS + DAY_MS + 1 });
        // An answer that is stored later expires later.
        await store.storeAnswer({ ...KEY, idempotency_key: 'b' }, 'one', CREATED, LATER_MS + DAY_MS + 7);
        expect(await claimNew('e', later)).toEqual({ ...refused, free_at_ms: NOON_MS + DAY_MS + 2 });
        const next_day = { now_ms: NOON_MS + DAY_MS + 2 };
        expect(await claimNew('c', next_day)).toMatchObject({ outcome: 'claimed', resumed: false });
        expect(await claimNew('e', next_day)).toEqual({ ...refused, free_at_ms: LATER_MS + DAY_MS });
      });

      test('that was lowered says when enough records have expired', async () => {
        await use();
        expect(await claimNew('d', { ...later, records_max: 2 })).toEqual({
          ...refused,
          free_at_ms: NOON_MS + DAY_MS + 1,
        });
        const one = { records_max: 1 };
        expect(await claimNew('d', { ...later, ...one })).toEqual({
          ...refused,
          free_at_ms: NOON_MS + DAY_MS + 2,
        });
        const early = { ...one, now_ms: NOON_MS + DAY_MS + 1 };
        expect(await claimNew('d', early)).toMatchObject({ outcome: 'quota_reached' });
        const in_time = { ...one, now_ms: NOON_MS + DAY_MS + 2 };
        expect(await claimNew('d', in_time)).toMatchObject({ outcome: 'claimed' });
      });

      test('counts an answer of more than 4 kB several times, after compression', async () => {
        const answer = async (name: string, body: string): Promise<void> => {
          const long = { ...CREATED, body };
          expect(
            await store.storeAnswer({ ...KEY, idempotency_key: name }, 'one', long, NOON_MS + DAY_MS),
          ).toBe(true);
        };
        await claimNew('a');
        await answer('a', 'compressible '.repeat(8_000));
        expect(await claimNew('b')).toMatchObject({ outcome: 'claimed' });
        // About 9 kB in base64 after compression: three records.
        await answer('b', randomBytes(6_000).toString('hex'));
        expect(await claimNew('c', { records_max: 4 })).toEqual(refused);
        expect(await claimNew('c', { records_max: 5 })).toMatchObject({ outcome: 'claimed' });
        const next_day = { now_ms: NOON_MS + DAY_MS };
        for (const name of ['a', 'b'])
          expect(await claimNew(name, next_day)).toMatchObject({ resumed: false });
      });

      test('is exact for concurrent claims of several processes', async () => {
        const stores = [store, await under_test.openAnother(), await under_test.openAnother()];
        const claims = Array.from({ length: 60 }, (_, n) =>
          claimNew(`key-${n}`, { records_max: 20 }, stores[n % 3]!),
        );
        const outcomes = (await Promise.all(claims)).map(({ outcome }) => outcome);
        expect(outcomes.filter((outcome) => outcome === 'claimed')).toHaveLength(20);
        expect(outcomes.filter((outcome) => outcome === 'quota_reached')).toHaveLength(40);
      });
    });

    test('exactly one of many concurrent claims in several processes gets the lock', async () => {
      const stores = [store, await under_test.openAnother(), await under_test.openAnother()];
      const claimed = await Promise.all(
        Array.from({ length: 60 }, (_, n) => stores[n % 3]!.claim(KEY, claim({ holder: `holder-${n}` }))),
      );
      expect(claimed.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(1);
      expect(claimed.filter(({ outcome }) => outcome === 'locked')).toHaveLength(59);
    });

    test('stored answers survive a restart of the process', async () => {
      await store.claim(KEY, claim());
      await store.storeAnswer(KEY, 'one', CREATED, NOON_MS + DAY_MS);
      await store.close();
      const again = await under_test.openAnother();
      expect(await again.claim(KEY, claim({ holder: 'two' }))).toEqual(kept);
    });

    test('check fails if the store cannot be reached', async () => {
      expect(await store.check()).toBe('ok');
      await store.close();
      await expect(store.check()).rejects.toMatchObject({ condition: 'unavailable' });
    });
  });
}
