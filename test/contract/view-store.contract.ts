import type { VersionStatus, ViewStore } from '../../shared/ports/view-store';
import { aPublication, aWrite, put } from './some-documents';
import { viewDocumentsContract } from './view-documents.contract';
import { viewPagesContract } from './view-pages.contract';
import { viewSearchContract } from './view-search.contract';

/** An empty view store; `again` opens the same store as another process would, with a clock that both follow. */
export interface ViewStoreUnderTest {
  readonly store: ViewStore;
  again(lane_count?: number): Promise<ViewStore>;
  /**
   * `code_unit`: a stand-in for the server sorts texts by UTF-16 units, which is another order beyond the BMP; such
   * texts are left out then. Everything that is no stand-in sorts by code point, as the port says.
   */
  readonly text_order?: 'code_point' | 'code_unit';
  /** Moves the clock of the leases on. */
  advance(ms: number): void;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

/** What every view store promises (shared/ports/view-store.ts). */
export function viewStoreContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  viewVersionsContract(name, open);
  viewDocumentsContract(name, open);
  viewPagesContract(name, open);
  viewSearchContract(name, open);
}

function viewVersionsContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  describe(`view store on ${name}`, () => {
    let given: ViewStoreUnderTest;
    let store: ViewStore;

    beforeEach(async () => {
      given = await open();
      store = given.store;
    });
    afterEach(() => given.dispose());

    const statuses = async (of: ViewStore = store): Promise<[number, VersionStatus][]> =>
      (await of.versions()).map(({ version, status }) => [version, status]);

    test('the number of lanes stays as it was when the store was first opened', async () => {
      await store.ready;
      const other = await given.again(store.lane_count + 3);
      await other.ready;
      expect(other.lane_count).toBe(store.lane_count);
    });

    describe('versions', () => {
      test('a new store has none', async () => {
        expect(await store.versions()).toEqual([]);
      });

      test('a version is building first, with all lanes at the start and nothing in it', async () => {
        const info = await store.createVersion(7);
        expect(info).toMatchObject({ status: 'building', schema: 7 });
        expect(new Date(info.created_at).toISOString()).toBe(info.created_at);
        expect(await store.versions()).toEqual([info]);
        const version = await store.open(info.version);
        expect(version.version).toBe(info.version);
        expect(await version.checkpoints()).toEqual(Array(store.lane_count).fill(0n));
        expect(await version.scan('publications', { limit: 10 })).toEqual([]);
      });

      test('versions are listed newest first, alike by every process', async () => {
        const other = await given.again();
        const first = await store.createVersion(1);
        const second = await other.createVersion(1);
        expect(second.version).toBeGreaterThan(first.version);
        expect((await store.versions()).map(({ version }) => version)).toEqual([
          second.version,
          first.version,
        ]);
        expect(await other.versions()).toEqual(await store.versions());
      });

      test('a version goes through its life, one active at most', async () => {
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
        // And back, should the new one be wrong.
        await store.activate(one);
        expect(await statuses(await given.again())).toEqual([
          [two, 'retired'],
          [one, 'active'],
        ]);
        await store.drop(two);
        expect(await statuses()).toEqual([[one, 'active']]);
      });

      test('two that activate at once leave one active', async () => {
        const other = await given.again();
        const one = await store.createVersion(1);
        const two = await store.createVersion(1);
        await Promise.all([store.activate(one.version), other.activate(two.version)]);
        expect((await statuses()).filter(([, status]) => status === 'active')).toHaveLength(1);
      });

      test('the active version can be neither dropped nor set to something else', async () => {
        const { version } = await store.createVersion(1);
        await store.activate(version);
        await expect(store.drop(version)).rejects.toThrow();
        await expect(store.setStatus(version, 'retired')).rejects.toThrow();
        expect(await statuses()).toEqual([[version, 'active']]);
      });

      test('a version that is not there can be neither opened nor changed', async () => {
        const { version } = await store.createVersion(1);
        const other = await given.again();
        await store.drop(version);
        for (const one of [store, other]) {
          await expect(one.open(version)).rejects.toThrow();
          await expect(one.activate(version)).rejects.toThrow();
          await expect(one.setStatus(version, 'following')).rejects.toThrow();
          await expect(one.drop(version)).rejects.toThrow();
          expect(await one.versions()).toEqual([]);
        }
      });

      test('a version that another process dropped is not opened again, though it was open', async () => {
        const other = await given.again();
        const { version } = await store.createVersion(1);
        await other.open(version);
        await store.drop(version);
        await expect(other.open(version)).rejects.toThrow();
      });

      test('a dropped number is never given again', async () => {
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

      test('versions keep their documents and checkpoints apart', async () => {
        const one = await store.open((await store.createVersion(1)).version);
        const two = await store.open((await store.createVersion(1)).version);
        await put(one, aWrite('publications', 'p', 5n, aPublication()));
        expect(await two.get('publications', 'p')).toBeUndefined();
        expect(await two.checkpoint(0)).toBe(0n);
      });

      test('what was written is there when the store is opened again', async () => {
        const { version } = await store.createVersion(1);
        await put(await store.open(version), aWrite('publications', 'p', 5n, aPublication()));
        await store.activate(version);
        await store.close();
        const reopened = await given.again();
        expect(await statuses(reopened)).toEqual([[version, 'active']]);
        const same = await reopened.open(version);
        expect((await same.get('publications', 'p'))?.position).toBe(5n);
        expect(await same.checkpoint(0)).toBe(5n);
      });
    });

    describe('leases', () => {
      const TTL_MS = 1_000;

      test('one owner holds a lease at a time, across processes', async () => {
        const other = await given.again();
        expect(await store.lease('feeder', 'one', TTL_MS)).toBe(true);
        expect(await other.lease('feeder', 'two', TTL_MS)).toBe(false);
        expect(await other.lease('rebuild', 'two', TTL_MS)).toBe(true);
      });

      test('of many that ask at once exactly one gets it', async () => {
        const other = await given.again();
        const asked = Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? store : other).lease('feeder', `owner-${n}`, TTL_MS),
        );
        expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
      });

      test('it lasts as long as it is renewed, and passes on after that', async () => {
        const other = await given.again();
        await store.lease('feeder', 'one', TTL_MS);
        for (let n = 0; n < 3; n++) {
          given.advance(TTL_MS * 0.8);
          expect(await store.lease('feeder', 'one', TTL_MS)).toBe(true);
          expect(await other.lease('feeder', 'two', TTL_MS)).toBe(false);
        }
        given.advance(TTL_MS);
        expect(await other.lease('feeder', 'two', TTL_MS)).toBe(true);
        expect(await store.lease('feeder', 'one', TTL_MS)).toBe(false);
      });

      test('it can be given back early, by its owner alone', async () => {
        const other = await given.again();
        await store.lease('feeder', 'one', TTL_MS);
        await other.release('feeder', 'two');
        expect(await other.lease('feeder', 'two', TTL_MS)).toBe(false);
        await store.release('feeder', 'one');
        await store.release('feeder', 'one');
        expect(await other.lease('feeder', 'two', TTL_MS)).toBe(true);
      });

      test('a clock that is set back does not keep a dead owner alive', async () => {
        await store.lease('feeder', 'one', TTL_MS);
        given.advance(-3_600_000);
        expect(await store.lease('feeder', 'two', TTL_MS)).toBe(true);
      });
    });
  });
}
