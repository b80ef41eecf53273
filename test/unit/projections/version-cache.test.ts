import { VersionCache, VIEW_SCHEMA } from '../../../projections/engine/versions';
import { openViews } from '../../support/faulty-views';
import { waitFor } from '../../support/wait-for';

/** Returns a view store with one active version that counts the calls of `versions`. */
async function startStore() {
  const views = await openViews();
  await views.activate((await views.createVersion(VIEW_SCHEMA)).version);
  const store = { reads: 0, unavailable: false };
  const versions = views.versions.bind(views);
  views.versions = async () => {
    store.reads++;
    if (store.unavailable) throw new Error('unavailable');
    return versions();
  };
  return { views, cache: new VersionCache(views), store };
}

describe('the list of versions that receive events', () => {
  test('is read once for many calls, and again after a short time', async () => {
    const { views, cache, store } = await startStore();
    await Promise.all(Array.from({ length: 20 }, () => cache.list()));
    expect(store.reads).toBe(1);
    const { version } = await views.createVersion(VIEW_SCHEMA);
    await views.setStatus(version, 'following');
    // The active version comes last, so a reader that switches to a new version never finds it behind.
    await waitFor(async () => (await cache.list()).length === 2);
    expect((await cache.list()).map(({ status }) => status)).toEqual(['following', 'active']);
    expect((await cache.active())?.version).toBe(1);
  });

  test('is read again after a failed read and after an invalidation', async () => {
    const { cache, store } = await startStore();
    store.unavailable = true;
    await expect(cache.list()).rejects.toThrow('unavailable');
    store.unavailable = false;
    expect(await cache.list()).toHaveLength(1);
    cache.invalidate();
    await cache.list();
    expect(store.reads).toBe(3);
  });
});
