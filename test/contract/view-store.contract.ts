import type { VersionStatus, ViewStore } from '../../shared/ports/view-store';
import { bounded } from '../support/bounded';
import { within } from '../support/wait-for';
import { aPublication, aWrite, put } from './some-documents';
import { viewDocumentsContract } from './view-documents.contract';
import { viewPagesContract } from './view-pages.contract';
import { viewSearchContract } from './view-search.contract';

/** An empty view store. `openAnother` opens the same store as another process would, with the same clock. */
export interface ViewStoreUnderTest {
  readonly store: ViewStore;
  openAnother(partition_count?: number): Promise<ViewStore>;
  /**
   * `code_unit`: the stand-in for the server sorts texts by UTF-16 code units, which differs for characters beyond the
   * BMP; the tests then leave out such texts. All other stores sort by code point, as the port requires.
   */
  readonly text_order?: 'code_point' | 'code_unit';
  /**
   * How many documents the longest list of the tests has, 3,200 by default: more than the rows between two anchors of a
   * list. A store without anchors needs fewer, and a stand-in that reads every document for each page is slow with many.
   */
  readonly list_length?: number;
  /** Advances the clock of the leases. */
  advance(ms: number): void;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

/** Tests what every view store guarantees (shared/ports/view-store.ts). */
export function viewStoreContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  viewVersionsContract(name, open);
  viewDocumentsContract(name, open);
  viewPagesContract(name, open);
  viewSearchContract(name, open);
}

function viewVersionsContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  describe(`view store on ${name}`, () => {
    let under_test: ViewStoreUnderTest;
    let store: ViewStore;

    beforeEach(async () => {
      under_test = await open();
      store = bounded(under_test.store, 'view store');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    const statuses = async (view_store: ViewStore = store): Promise<[number, VersionStatus][]> =>
      (await view_store.versions()).map(({ version, status }) => [version, status]);

    test('the partition count of the first opening never changes', async () => {
      await store.ready;
      const other = await under_test.openAnother(store.partition_count + 3);
      await other.ready;
      expect(other.partition_count).toBe(store.partition_count);
    });

    describe('versions', () => {
      test('a new store has none', async () => {
        expect(await store.versions()).toEqual([]);
      });

      test('a new version is building and empty, with all partitions at the start', async () => {
        const info = await store.createVersion(7);
        expect(info).toMatchObject({ status: 'building', schema: 7 });
        expect(new Date(info.created_at).toISOString()).toBe(info.created_at);
        expect(await store.versions()).toEqual([info]);
        const version = await store.open(info.version);
        expect(version.version).toBe(info.version);
        expect(await version.checkpoints()).toEqual(Array(store.partition_count).fill(0n));
        expect(await version.scan('publications', { limit: 10 })).toEqual([]);
      });

      test('every process lists the versions newest first', async () => {
        const other = await under_test.openAnother();
        const first = await store.createVersion(1);
        const second = await other.createVersion(1);
        expect(second.version).toBeGreaterThan(first.version);
        expect((await store.versions()).map(({ version }) => version)).toEqual([
          second.version,
          first.version,
        ]);
        expect(await other.versions()).toEqual(await store.versions());
      });

      test('a version passes through its statuses, and at most one is active', async () => {
        const { version: one } = await store.createVersion(1);
        await store.activate(one);
        const { version: two } = await store.createVersion(2);
        await store.setStatus(two, 'following');
        expect(await statuses()).toEqual([
          [two, 'following'],
          [one, 'active'],
        ]);
        await store.activate(two);
        expect(await statuses()).toEqual([
          [two, 'active'],
          [one, 'retired'],
        ]);
        const since = async (): Promise<(string | undefined)[]> =>
          (await store.versions()).map(({ retired_at }) => retired_at);
        expect(await since()).toEqual([undefined, expect.stringMatching(/^\d{4}-.*Z$/)]);
        // The old version can be activated again.
        await store.activate(one);
        expect(await since()).toEqual([expect.any(String), undefined]);
        expect(await statuses(await under_test.openAnother())).toEqual([
          [two, 'retired'],
          [one, 'active'],
        ]);
        await store.drop(two);
        expect(await statuses()).toEqual([[one, 'active']]);
      });

      test('two concurrent activations leave one version active', async () => {
        const other = await under_test.openAnother();
        const one = await store.createVersion(1);
        const two = await store.createVersion(1);
        await Promise.all([store.activate(one.version), other.activate(two.version)]);
        expect((await statuses()).filter(([, status]) => status === 'active')).toHaveLength(1);
      });

      test('the active version can be neither dropped nor given another status', async () => {
        const { version } = await store.createVersion(1);
        await store.activate(version);
        await expect(store.drop(version)).rejects.toThrow();
        await expect(store.setStatus(version, 'retired')).rejects.toThrow();
        expect(await statuses()).toEqual([[version, 'active']]);
      });

      test('a version that does not exist can be neither opened nor changed', async () => {
        const { version } = await store.createVersion(1);
        const other = await under_test.openAnother();
        await store.drop(version);
        for (const one of [store, other]) {
          await expect(one.open(version)).rejects.toThrow();
          await expect(one.activate(version)).rejects.toThrow();
          await expect(one.setStatus(version, 'following')).rejects.toThrow();
          await expect(one.drop(version)).rejects.toThrow();
          expect(await one.versions()).toEqual([]);
        }
      });

      test('a version that another process dropped cannot be opened again, even if it was open', async () => {
        const other = await under_test.openAnother();
        const { version } = await store.createVersion(1);
        await other.open(version);
        await store.drop(version);
        await expect(other.open(version)).rejects.toThrow();
      });

      test('the number of a dropped version is never reused', async () => {
        const { version } = await store.createVersion(1);
        await store.drop(version);
        expect((await store.createVersion(1)).version).toBeGreaterThan(version);
      });

      test('a version is one object per store, however often it is opened', async () => {
        const { version } = await store.createVersion(1);
        const [one, two] = await Promise.all([store.open(version), store.open(version)]);
        expect(one).toBe(two);
        expect(await store.open(version)).toBe(one);
      });

      test('a write to one version does not change the documents and checkpoints of another', async () => {
        const one = await store.open((await store.createVersion(1)).version);
        const two = await store.open((await store.createVersion(1)).version);
        await put(one, aWrite('publications', 'p', 5n, aPublication()));
        expect(await two.get('publications', 'p')).toBeUndefined();
        expect(await two.checkpoint(0)).toBe(0n);
      });

      test('written documents are stored when the store is opened again', async () => {
        const { version } = await store.createVersion(1);
        await put(await store.open(version), aWrite('publications', 'p', 5n, aPublication()));
        await store.activate(version);
        await store.close();
        const reopened = await under_test.openAnother();
        expect(await statuses(reopened)).toEqual([[version, 'active']]);
        const same = await reopened.open(version);
        expect((await same.get('publications', 'p'))?.position).toBe(5n);
        expect(await same.checkpoint(0)).toBe(5n);
      });
    });

    test('a pause has its first time and lasts until it ends, for every process and with other versions', async () => {
      expect(await store.pausedSince()).toBeUndefined();
      await store.setPaused(true);
      const since = await store.pausedSince();
      expect(new Date(since!).toISOString()).toBe(since);
      under_test.advance(60_000);
      const other = await under_test.openAnother();
      await other.activate((await other.createVersion(1)).version);
      await other.setPaused(true);
      expect(await other.pausedSince()).toBe(since);
      await other.setPaused(false);
      await other.setPaused(false);
      expect(await store.pausedSince()).toBeUndefined();
      await store.setPaused(true);
      expect(await store.pausedSince()).not.toBe(since);
    });

    describe('leases', () => {
      const TTL_MS = 1_000;

      test('at most one owner has a lease at a time, across processes', async () => {
        const other = await under_test.openAnother();
        expect(await store.lease('dispatcher', 'one', TTL_MS)).toBe(true);
        expect(await other.lease('dispatcher', 'two', TTL_MS)).toBe(false);
        expect(await other.lease('rebuild', 'two', TTL_MS)).toBe(true);
      });

      test('exactly one of many concurrent requests gets the lease', async () => {
        const other = await under_test.openAnother();
        const requests = Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? store : other).lease('dispatcher', `owner-${n}`, TTL_MS),
        );
        expect((await Promise.all(requests)).filter(Boolean)).toHaveLength(1);
      });

      test('a lease lasts while its owner renews it; then another owner can take it', async () => {
        const other = await under_test.openAnother();
        await store.lease('dispatcher', 'one', TTL_MS);
        for (let n = 0; n < 3; n++) {
          under_test.advance(TTL_MS * 0.8);
          expect(await store.lease('dispatcher', 'one', TTL_MS)).toBe(true);
          expect(await other.lease('dispatcher', 'two', TTL_MS)).toBe(false);
        }
        under_test.advance(TTL_MS);
        expect(await other.lease('dispatcher', 'two', TTL_MS)).toBe(true);
        expect(await store.lease('dispatcher', 'one', TTL_MS)).toBe(false);
      });

      test('only the owner of a lease can release it early', async () => {
        const other = await under_test.openAnother();
        await store.lease('dispatcher', 'one', TTL_MS);
        await other.release('dispatcher', 'two');
        expect(await other.lease('dispatcher', 'two', TTL_MS)).toBe(false);
        await store.release('dispatcher', 'one');
        await store.release('dispatcher', 'one');
        expect(await other.lease('dispatcher', 'two', TTL_MS)).toBe(true);
      });

      test('a lease ends even if the clock is set back', async () => {
        await store.lease('dispatcher', 'one', TTL_MS);
        under_test.advance(-3_600_000);
        expect(await store.lease('dispatcher', 'two', TTL_MS)).toBe(true);
      });
    });
  });
}
