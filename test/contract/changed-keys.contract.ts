import type { ViewStore } from '../../shared/ports/view-store';
import { aBatch, aPublication, aWrite, idsOf, put } from './some-documents';

export interface TwoReleases {
  /** Opens the store with this release. */
  today(): Promise<ViewStore>;
  /** Opens the same store with the next release, which declares one more key of publications, `trial_field`. */
  next(): Promise<ViewStore>;
  dispose(): Promise<void>;
}

const order = [['id', 'asc']] as const;
const store_1 = { store_id: 'store-1' };
const unavailable = { condition: 'unavailable' };

/** Tests what every view store guarantees for a version that was created with other keys than the declared ones. */
export function changedKeysContract(name: string, open: () => Promise<TwoReleases>): void {
  describe(`changed keys on ${name}`, () => {
    let releases: TwoReleases;
    beforeEach(async () => {
      releases = await open();
    });
    afterEach(() => releases.dispose());

    async function createActive(store: ViewStore): Promise<number> {
      const { version } = await store.createVersion(1);
      const view = await store.open(version);
      const publication = { ...aPublication({}, { title: 'A mug' }), words: ['mug'] };
      await put(view, aWrite('publications', 'p', 1n, publication));
      await store.activate(version);
      return version;
    }

    test('is listed as different by every process of the next release', async () => {
      const today = await releases.today();
      const version = await createActive(today);
      expect(await today.versions()).toMatchObject([{ version, keys_differ: false }]);
      for (const store of [await releases.next(), await releases.next()])
        expect(await store.versions()).toMatchObject([{ version, status: 'active', keys_differ: true }]);
      expect(await (await releases.today()).versions()).toMatchObject([{ version, keys_differ: false }]);
    });

    test('is read by its stored keys; a query with another key fails with unavailable and affects no other query', async () => {
      const version = await createActive(await releases.today());
      const view = await (await releases.next()).open(version);
      const scope = { ...store_1, visibility: 'public' };
      for (let round = 0; round < 2; round++) {
        expect((await view.get('publications', 'p'))?.document).toMatchObject({
          keys: { store_id: 'store-1', trial_field: null },
          body: { title: 'A mug' },
        });
        expect(idsOf(await view.getMany('publications', ['p', 'q']))).toEqual(['p']);
        expect(idsOf(await view.find('publications', { where: store_1, order, limit: 9 }))).toEqual(['p']);
        expect(await view.count('publications', store_1)).toBe(1);
        expect(idsOf(await view.scan('publications', { limit: 9 }))).toEqual(['p']);
        const search = { scope, where: scope, order, limit: 9, tiers: [[[{ word: 'mug' }]]] };
        expect(idsOf((await view.search('publications', search)).documents)).toEqual(['p']);
        expect(await view.checkpoints()).toHaveLength(8);

        const where = { ...store_1, trial_field: 'Acme' };
        await expect(view.find('publications', { where, order, limit: 9 })).rejects.toMatchObject(
          unavailable,
        );
        const by_trial_field = [['trial_field', 'asc'], ...order] as const;
        const sorted = { where: store_1, order: by_trial_field, limit: 9 };
        await expect(view.find('publications', sorted)).rejects.toMatchObject(unavailable);
        await expect(view.count('publications', where)).rejects.toMatchObject(unavailable);
        const filtered = { ...search, where: { ...scope, trial_field: 'Acme' } };
        await expect(view.search('publications', filtered)).rejects.toMatchObject(unavailable);
        await expect(view.find('publications', { where: { colour: 1 }, order, limit: 9 })).rejects.toThrow(
          'declares no key',
        );
      }
    });

    test('is read-only', async () => {
      const version = await createActive(await releases.today());
      const view = await (await releases.next()).open(version);
      await expect(view.apply(aBatch({ checkpoint: 2n }))).rejects.toThrow('rebuild');
      expect(await view.checkpoint(0)).toBe(1n);
    });

    test('is replaced by a rebuilt version, which is read-only for the earlier release', async () => {
      const earlier = await releases.today();
      const version = await createActive(earlier);
      const next = await releases.next();
      const { version: newer, keys_differ } = await next.createVersion(1);
      expect(keys_differ).toBe(false);
      const view = await next.open(newer);
      await put(view, aWrite('publications', 'p', 1n, aPublication({ trial_field: 'Acme' })));
      await next.setStatus(newer, 'following');
      await next.activate(newer);
      const where = { ...store_1, trial_field: 'Acme' };
      expect(idsOf(await view.find('publications', { where, order, limit: 9 }))).toEqual(['p']);
      expect(await (await releases.next()).versions()).toMatchObject([
        { version: newer, status: 'active', keys_differ: false },
        { version, status: 'retired', keys_differ: true },
      ]);

      expect(await earlier.versions()).toMatchObject([
        { version: newer, keys_differ: true },
        { version, keys_differ: false },
      ]);
      const seen = await earlier.open(newer);
      expect(idsOf(await seen.find('publications', { where: store_1, order, limit: 9 }))).toEqual(['p']);
      await expect(seen.apply(aBatch({ checkpoint: 2n }))).rejects.toThrow('rebuild');
    });
  });
}
