import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { findPurgeTarget, purge } from '../../services/command/purge';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { parseConfig } from '../../shared/kernel/config';
import type { AnyId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { chunks, uploadWithoutTask } from '../support/media';
import { flatPicture } from '../support/pictures';
import { withTempDir } from '../support/temp-dir';
import { expectFailure, InProcessCli } from './cli-run';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const SECRET = 'Written by Rosa Quispe, Calle 12';

test('catalog purge erases what was deleted, and nothing else', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(join(folder, 'data'));
    const account = await cli.account();
    const store = await cli.store(account, '--test');
    const rows = ['Cup', 'Mug'].map((title) => ({
      ...{ external_id: title, title, price: '4.00', listing: 'Kitchen', description: SECRET },
      // The purge also removes the events that made this reference.
      other_listings: [{ listing: 'Sale', featured_position: 1 }],
      reviews: [{ rating: 5, body: SECRET, author_name: 'Rosa' }],
    }));
    writeFileSync(join(folder, 'rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
    await cli.json('import', join(folder, 'rows.jsonl'), '--format', 'jsonl', '--store', store);
    const events = (await cli.run('events', 'tail', '--json', '--store', store, '--last', '50')).stdout;
    const id = /test\.publication-([-0-9a-f]{36})/.exec(events)![1]!;

    expectFailure(await cli.run('purge', id, '--yes'), 1, 'is not deleted');
    expectFailure(await cli.run('purge', store, '--yes'), 1, 'No publication, listing, review or media');
    await cli.json('test-data', 'reset', '--account', account, '--yes');
    expectFailure(await cli.run('purge', id), 2, 'Add --yes to confirm');
    const purged = await cli.json('purge', id, '--yes');
    expect(purged).toEqual({ id, category: 'publication', environment: 'test', erased_events: 2 });
    // A second one, as after a crash between the two steps, finds nothing to do.
    expect(await cli.json('purge', id, '--yes')).toMatchObject({ erased_events: 0 });
    const { events: left } = await cli.json('events', 'show', `test.publication-${id}`);
    expect(left.map(({ type }: { type: string }) => type)).toEqual(['PublicationErased']);
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
    await cli.json('projections', 'rebuild');
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
    // Its external id names it no more: an import makes another publication.
    const again = await cli.json('import', join(folder, 'rows.jsonl'), '--format', 'jsonl', '--store', store);
    expect(again.publications).toMatchObject({ created: 2, failed: 0 });
  }));

describe('a purge', () => {
  const here = ownShop({ is_own: true });
  const { send } = here;
  const create = async (path: string, body: object): Promise<string> =>
    (await send('POST', `/api/${path}`, { body })).body.data.id;
  const context = { source: 'cli', request_id: 'purge' } as const;
  const purgeOf = async (id: string) => {
    const { deps } = here.harness;
    return purge(deps, context, (await findPurgeTarget(deps, id as AnyId))!);
  };
  /** Whether a file of the log contains the text. */
  const isInLog = (text: string): boolean =>
    readdirSync(join(here.harness.data_dir, 'live'))
      .filter((name) => /^(events|snapshots)/.test(name))
      .some((name) => readFileSync(join(here.harness.data_dir, 'live', name)).includes(text));

  test('leaves nothing in the log of a publication, its review and a listing', async () => {
    const listing_id = await create('listing', { name: 'Kitchen', description: SECRET });
    const least = { title: 'Cup', price_currency: 'PEN', price_amount: 1, listing_id };
    const id = await create('publication', { ...least, description: SECRET });
    const other_id = await create('publication', least);
    const review = { rating: 5, body: SECRET, author_name: 'Rosa' };
    const review_id = await create(`publication/${id}/reviews`, review);
    for (const path of [`review/${review_id}`, `publication/${id}`, `listing/${listing_id}`])
      expect((await send('DELETE', `/api/${path}`)).status).toBe(200);
    expect(isInLog(SECRET)).toBe(true);
    for (const each of [review_id, id, listing_id]) expect(await purgeOf(each)).toBeGreaterThan(0);
    await here.harness.settled();
    if (!process.env.EVENTSTORE_URL) expect(isInLog(SECRET)).toBe(false);

    expectError(await send('POST', `/api/publication/${id}/restore`), 404, 'PUBLICATION_NOT_FOUND');
    expectError(await send('POST', `/api/listing/${listing_id}/restore`), 404, 'LISTING_NOT_FOUND');
    expect((await send('GET', '/api/publications?visibility=deleted')).body.data).toEqual([]);
    expect((await send('GET', '/api/listings?visibility=deleted')).body.data).toEqual([]);
    expect((await send('GET', `/api/publication/${id}/history`)).body.data).toEqual([]);
    expect((await send('GET', `/api/publication/${other_id}?visibility=all`)).body.data).not.toHaveProperty(
      'listing_id',
    );
    const changes = await send('GET', '/api/changes');
    expect(changes.text).not.toContain('Rosa');
    expect(changes.text).toContain(other_id);
  });

  test('is refused if the resource was restored meanwhile', async () => {
    const id = await create('publication', { title: 'Cup', price_currency: 'PEN', price_amount: 1 });
    await send('DELETE', `/api/publication/${id}`);
    const { deps } = here.harness;
    const target = (await findPurgeTarget(deps, id as AnyId))!;
    await send('POST', `/api/publication/${id}/restore`);
    await expect(purge(deps, context, target)).rejects.toMatchObject({ condition: 'lost_race' });
    expect((await send('GET', `/api/publication/${id}`)).body.data.title).toBe('Cup');
  });
});

const DAY_MS = 24 * 3_600_000;

test('media sweep deletes unused files older than a day; a dry run only reports them', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const store = await cli.store(await cli.account());
    const runtime = await openRuntime(
      parseConfig({ DATA_DIR: folder }),
      pino({ level: 'silent' }),
      realSystem,
    );
    await uploadWithoutTask(runtime, store as never, await flatPicture('png', { width: 9, height: 9 }));
    await runtime.blobs.live.originals.put(chunks(Buffer.from('a young one')));
    await runtime.close();
    // Stores a file with a clock that is two days behind.
    const originals = await FileBlobStore.open({
      folder: `${folder}/live/media/originals`,
      now: () => Date.now() - 2 * DAY_MS,
    });
    await originals.put(chunks(Buffer.from('an old one')));
    await originals.close();

    const swept = { environment: 'live', area: 'originals', kept: 2, deleted: 1, deleted_bytes: 10 };
    const would = await cli.json('media', 'sweep', '--dry-run');
    expect(would.dry_run).toBe(true);
    expect(would.areas).toHaveLength(4);
    expect(would.areas[0]).toEqual(swept);
    const done = await cli.json('media', 'sweep', '--environment', 'live');
    expect(done.areas).toHaveLength(2);
    expect(done.areas[0]).toEqual(swept);
    const again = await cli.run('media', 'sweep', '--environment', 'live');
    expect(again.stdout).toMatch(/live +originals +2 +0 +0\n/);
    expectFailure(
      await cli.run('media', 'sweep', '--environment', 'both'),
      2,
      "argument 'both' is invalid. Allowed choices are live, test.",
    );
  }));
