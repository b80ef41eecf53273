import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openEventStore, openViewStore } from '../../services/boot/open-adapters';
import { execute } from '../../services/command/execute';
import { uploadMedia } from '../../services/command/media';
import { parseStreamName, streamName } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { publicationAggregate } from '../../shared/catalog/publication/publication';
import { parseConfig } from '../../shared/kernel/config';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { streamIn } from '../../shared/ports/stream-state';
import { ALL_PARTS, type ViewStore, type ViewVersion } from '../../shared/ports/view-store';
import { nextBatch } from '../contract/some-documents';
import { readLog } from '../support/read-log';
import { waitFor } from '../support/wait-for';
import { anUpload } from '../unit/command/support';
import { Cli, copiedCatalog, expectFailure } from './cli-run';

const row = (index: number) => ({
  external_id: `p${index}`,
  title: `P${index}`,
  price: '1.00',
  listing: 'All',
});

/** The store, the listing, and for each row the reservation of its external id and the publication. */
const IMPORTED = 2 + 2 * 12;

const ROWS = Array.from({ length: 12 }, (_, index) => row(index));
const withCatalog = copiedCatalog(ROWS);
const withTestCatalog = copiedCatalog(ROWS, '--test');

async function inLiveViews(
  cli: Cli,
  story: (views: ViewStore, active: ViewVersion) => Promise<void>,
): Promise<void> {
  const views = await openViewStore(parseConfig({ DATA_DIR: cli.folder }), 'live');
  try {
    const active = (await views.versions()).find(({ status }) => status === 'active')!;
    await story(views, await views.open(active.version));
  } finally {
    await views.close();
  }
}

test('status, verify, rebuild, rollback and drop work on a catalog', () =>
  withCatalog(async ({ cli }) => {
    const { realms } = await cli.json('projections', 'status');
    expect(realms.map(({ realm }: { realm: string }) => realm)).toEqual(['control', 'live', 'test']);
    expect(realms[1]).toMatchObject({
      head: String(IMPORTED),
      lag: '0',
      versions: [{ status: 'active', dead_letters: [] }],
    });
    expect(realms[1].versions[0].partitions[0]).toEqual({
      partition: 0,
      checkpoint: String(IMPORTED),
      lag: '0',
    });
    expect((await cli.run('projections', 'status')).stdout).toMatch(/live +26 +v1 +active +0 +26 +0 +0\n/);

    const clean = await cli.json('projections', 'verify');
    expect(clean).toMatchObject({ clean: true });
    const rebuilt = await cli.json('projections', 'rebuild', '--realm', 'live', '--dead-letter');
    expect(rebuilt.realms).toMatchObject([{ realm: 'live', outcome: 'activated', previous: 1 }]);
    const back = await cli.json('projections', 'rollback', '--realm', 'live');
    expect(back.realms).toEqual([{ realm: 'live', version: 1, previous: rebuilt.realms[0].version }]);
    const dropped = await cli.json('projections', 'drop');
    expect(dropped.realms[1]).toEqual({ realm: 'live', dropped: [rebuilt.realms[0].version] });
    expectFailure(await cli.run('projections', 'rollback'), 1, 'No earlier view version');
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
  }));

test('verify lists the fields of a drifted document and exits with 1', () =>
  withCatalog(async ({ cli, store }) => {
    let id = '';
    await inLiveViews(cli, async (views, active) => {
      const [stored] = await active.scan('publications', { limit: 1 });
      id = stored!.id;
      const stored_document = (await active.get('publications', id, ALL_PARTS))!;
      const document = {
        ...stored_document.document!,
        body: { ...stored_document.document!.body, title: 'Changed by hand' },
      };
      const partition = partitionOf(store, views.partition_count);
      const write = {
        collection: 'publications',
        id,
        position: stored_document.position + 1n,
        document,
      } as const;
      expect(await active.apply(await nextBatch(active, { partition, writes: [write] }))).toBe('applied');
    });
    const found = await cli.run('projections', 'verify', '--json');
    expect(found.code).toBe(1);
    const { clean, realms } = JSON.parse(found.stdout);
    expect(clean).toBe(false);
    expect(realms[1].differences).toMatchObject([
      { collection: 'publications', id, field: 'body.title', actual: 'Changed by hand' },
    ]);
    const table = await cli.run('projections', 'verify', '--realm', 'live');
    expect(table.code).toBe(1);
    expect(table.stdout).toMatch(/DRIFT/);
    expect(table.stdout).toMatch(
      new RegExp(`live +publications +${id} +body.title +"P\\d+" +"Changed by hand"`),
    );

    await cli.json('projections', 'rebuild', '--realm', 'live');
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
  }));

test('status --watch follows the log until Ctrl-C', () =>
  withCatalog(async ({ cli, store }) => {
    const watching = new Cli(cli.folder).start('projections', 'status', '--watch', '--realm', 'live');
    const ended = once(watching, 'exit');
    let printed = '';
    watching.stdout!.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
    const heads = () => [...printed.matchAll(/^live +(\d+)/gm)].map(([, head]) => Number(head));
    await waitFor(() => heads().length > 0);
    const before = heads()[0]!;
    await cli.json('store', 'update', store, '--name', 'Renamed');
    await waitFor(() => heads().at(-1) === before + 1);
    watching.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  }));

test('lists dead letters under both names, retries and skips them', () =>
  withCatalog(async ({ cli, store }) => {
    const stream = streamName('live', 'store', store);
    await inLiveViews(cli, async (views, active) => {
      const partition = partitionOf(store, views.partition_count);
      const position = await active.checkpoint(partition);
      const failed_at = new Date().toISOString();
      const dead_letters = [{ stream, partition, revision: 1, position, reason: 'it broke', failed_at }];
      await active.apply(await nextBatch(active, { partition, dead_letters }));
    });
    const listed = [{ realm: 'live', stream, version: 1, reason: 'it broke' }];
    expect((await cli.json('projections', 'dead-letters')).dead_letters).toMatchObject(listed);
    // What an earlier release has stored has no cause.
    const { groups } = await cli.json('projections', 'dead-letters', '--by-error');
    expect(groups).toMatchObject([{ count: 1, first: listed[0] }]);
    const { group } = groups[0];
    expect((await cli.run('projections', 'dead-letters', '--by-error')).stdout).toMatch(
      new RegExp(`\n${group} +1 +- +${stream} +1 +\\S+ +it broke\n$`),
    );
    for (const given of [[], [stream, '--group', group]])
      expectFailure(await cli.run('projections', 'retry', ...given), 2, 'Give either a stream or --group');
    expect(await cli.json('projections', 'retry', '--group', group)).toMatchObject({
      group,
      versions: [{ stream, dead_letter: null }],
    });
    const again = await cli.run('projections', 'skip', '--group', group);
    expectFailure(again, 1, `Group ${group} is not on the dead-letter list`);
    expect((await cli.run('projections', 'dead-letters')).stdout).toBe('The dead-letter list is empty.\n');
    expectFailure(await cli.run('projections', 'skip', stream), 1, 'is not on the dead-letter list');
    expectFailure(await cli.run('projections', 'skip', 'nonsense'), 2, 'Invalid stream "nonsense"');
  }));

test('a rebuild that meets an event that it cannot project says how to go on; retry says that it fails again', () =>
  withCatalog(async ({ cli, store }) => {
    const stream = streamName('live', 'store', store);
    const log = await openEventStore(parseConfig({ DATA_DIR: cli.folder }), 'live');
    const [created] = await readLog(log);
    await log.append(stream, 0, [{ ...created!, id: randomUUID(), type: 'FromTheFuture' }]);
    await log.close();
    const rebuild = ['projections', 'rebuild', '--realm', 'live'];
    expectFailure(await cli.run(...rebuild), 1, `${stream}: unknown event type FromTheFuture`);
    expectFailure(await cli.run(...rebuild), 1, 'run "catalog projections rebuild --dead-letter"');
    expect(await cli.run(...rebuild, '--dead-letter')).toMatchObject({ code: 0 });
    const retried = await cli.run('projections', 'retry', stream);
    expect(retried).toMatchObject({ code: 1, stderr: '' });
    expect(retried.stdout).toMatch(
      /^STREAM +VERSION +PROJECTED +FAILS AGAIN\n\S+ +v\d+ +0 +at event 1: .*FromTheFuture/,
    );
    expect((await cli.run('projections', 'skip', stream)).stdout).toMatch(/\n\S+ +v\d+ +0 +no\n/);
  }));

test('test-data reset deletes the test data of an account and nothing else', () =>
  withTestCatalog(async ({ cli, account, store }) => {
    const live = await cli.store(account);
    await recordMedia(cli, store);
    await deleteAndRestore(cli, store);
    const reset = ['test-data', 'reset', '--account', account];
    expectFailure(await cli.run(...reset), 2, '12 test publications, 1 test listings and 1 test media');
    const deleted = { account_id: account, publications: 12, listings: 1, media: 1 };
    expect(await cli.json(...reset, '--yes')).toEqual(deleted);
    const before = (await cli.json('projections', 'status', '--realm', 'test')).realms[0].head;
    expect(before).toBe(String(1 + 2 + IMPORTED + 14));
    expect(await cli.json(...reset, '--yes')).toMatchObject({ publications: 0, listings: 0, media: 0 });
    const { stores } = await cli.json('store', 'list', '--account', account);
    expect(stores.map(({ id }: { id: string }) => id)).toContain(live);
    expect(stores).toHaveLength(2);
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
  }));

/** Appends the event of an upload. */
async function recordMedia(cli: Cli, store_id: string): Promise<void> {
  const test = await openEventStore(parseConfig({ DATA_DIR: cli.folder }), 'test');
  const deps = { system: realSystem, events: { live: test, test } };
  const context = { source: 'api', request_id: 'upload' } as const;
  const target = { environment: 'test', store_id: store_id as StoreId } as const;
  await uploadMedia(deps, context, target, anUpload()).finally(() => test.close());
}

/** Deletes a publication of the store, and restores it. */
async function deleteAndRestore(cli: Cli, store_id: string): Promise<void> {
  const test = await openEventStore(parseConfig({ DATA_DIR: cli.folder }), 'test');
  const deps = { system: realSystem, events: { live: test, test } };
  const context = { source: 'api', request_id: 'restore' } as const;
  const created = (await readLog(test)).find(({ type }) => type === 'PublicationCreated')!;
  const id = parseStreamName(created.stream)!.id as PublicationId;
  const ref = streamIn(deps, 'test', publicationAggregate, id);
  const write = { ...ref, system: realSystem, context, owner: { store_id: store_id as StoreId } };
  await execute({ ...write, prepare: () => ({ command: { type: 'Delete' } as const }) });
  await execute({
    ...write,
    prepare: () => ({ command: { type: 'Restore', now_ms: Date.now() } as const }),
  }).finally(() => test.close());
}

test('a second verification or rebuild fails with the reason while the first one runs', () =>
  withCatalog(({ cli }) =>
    inLiveViews(cli, async (views) => {
      for (const [command, what] of [
        ['verify', 'verification'],
        ['rebuild', 'rebuild'],
      ] as const) {
        expect(await views.lease(command, `pid:${process.pid}:test`, 60_000)).toBe(true);
        const message = `A ${what} of live is already running. If its process was killed, its lease expires within 15 s`;
        expectFailure(await cli.run('projections', command, '--realm', 'live'), 1, message);
      }
    }),
  ));
