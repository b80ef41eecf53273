import { FedVersions, VIEW_SCHEMA } from '../../../projections/engine/versions';
import { MemoryViewStore } from '../../support/memory-view-store';
import { waitFor } from '../../support/wait-for';

/** A store with one active version, which counts how often it is asked for the list. */
async function startStore() {
  const views = new MemoryViewStore();
  await views.activate((await views.createVersion(VIEW_SCHEMA)).version);
  const asked = { times: 0, away: false };
  const versions = views.versions.bind(views);
  views.versions = async () => {
    asked.times++;
    if (asked.away) throw new Error('away');
    return versions();
  };
  return { views, fed: new FedVersions(views), asked };
}

describe('the versions that are fed', () => {
  test('are looked up once for many, and again soon', async () => {
    const { views, fed, asked } = await startStore();
    await Promise.all(Array.from({ length: 20 }, () => fed.list()));
    expect(asked.times).toBe(1);
    const { version } = await views.createVersion(VIEW_SCHEMA);
    await views.setStatus(version, 'following');
    // The active one comes last: a reader that changes over to a version never finds it behind.
    await waitFor(async () => (await fed.list()).length === 2);
    expect((await fed.list()).map(({ status }) => status)).toEqual(['following', 'active']);
    expect((await fed.active())?.version).toBe(1);
  });

  test('are looked up anew after a failure, of the look or of a version', async () => {
    const { fed, asked } = await startStore();
    asked.away = true;
    await expect(fed.list()).rejects.toThrow('away');
    asked.away = false;
    expect(await fed.list()).toHaveLength(1);
    fed.forget();
    await fed.list();
    expect(asked.times).toBe(3);
  });
});
