import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEventStore } from '../../services/boot/open-adapters';
import { importEvents } from '../../services/cli/event-file';
import { type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { REALMS } from '../../shared/catalog/realm';
import type { Change } from '../../shared/client/api';
import { parseConfig } from '../../shared/kernel/config';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { MemoryEventStore } from '../support/memory-event-store';
import { preload } from '../support/preload';
import { waitFor } from '../support/wait-for';
import { Cli, copiedCatalog, expectFailure, InProcessCli } from './cli-run';
import { ownShop } from './own-shop';

const ROWS = ['Mug', 'Cup', 'Pot'].map((title) => ({
  external_id: title,
  title,
  price: '4.00',
  listing: 'Kitchen',
}));

/** A catalog with a store of three publications in one listing. */
const withCatalog = copiedCatalog(ROWS);

// biome-ignore lint/suspicious/noExplicitAny: tests read any field of an event
const eventsIn = (text: string): any[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('tail', () => {
  test('prints the newest events of a store or a type, from a time on', () =>
    withCatalog(async ({ cli, store }) => {
      const tail = async (...options: string[]) =>
        eventsIn((await cli.run('events', 'tail', '--json', ...options)).stdout);
      const all = await tail('--store', store, '--last', '100');
      expect(all[0]).toMatchObject({ type: 'StoreCreated', revision: 0, data: { name: 'Shop' } });
      const created = await tail('--type', 'PublicationCreated,ListingCreated');
      expect(created.map(({ data }) => data.title ?? data.name).sort()).toEqual([
        'Cup',
        'Kitchen',
        'Mug',
        'Pot',
      ]);
      expect(await tail('--last', '2')).toEqual(all.slice(-2));
      const { occurred_at } = all.at(-1).metadata;
      expect(await tail('--since', occurred_at, '--last', '100')).toEqual(
        all.filter(({ metadata }) => metadata.occurred_at >= occurred_at),
      );
      expect(await tail('--since', '2999-01-01')).toEqual([]);
      expect((await tail('--realm', 'control')).map(({ type }) => type)).toEqual(['AccountCreated']);
      const { stdout } = await cli.run('events', 'tail', '--type', 'StoreCreated');
      expect(stdout).toMatch(
        new RegExp(`^\\S+Z {2}\\d+ {2}live.store-${store} {2}0 {2}StoreCreated {2}cli {2}request .+\\n$`),
      );
      expectFailure(await cli.run('events', 'tail', '--since', 'noon'), 2, 'Invalid --since "noon"');
    }));

  test('with --follow prints what is appended meanwhile, until Ctrl-C', () =>
    withCatalog(async ({ cli, store }) => {
      const child = new Cli(cli.folder).start('events', 'tail', '--follow', '--last', '1', '--json');
      let printed = '';
      child.stdout!.setEncoding('utf8').on('data', (text) => {
        printed += text;
      });
      const ended = once(child, 'exit');
      await waitFor(() => printed.endsWith('\n'));
      await cli.json('store', 'update', store, '--name', 'Renamed');
      await waitFor(() => printed.includes('Renamed'));
      child.kill('SIGINT');
      expect(await ended).toEqual([0, null]);
      expect(eventsIn(printed).map(({ stream }) => stream)).toContain(`live.store-${store}`);
    }));
});

describe('show', () => {
  test('prints each event as this release reads it, and marks the dead letter', () =>
    withCatalog(async ({ cli, store }) => {
      const stream = streamName('live', 'store', store);
      const log = await openEventStore(parseConfig({ DATA_DIR: cli.folder }), 'live');
      const [first] = await log.readStream(stream);
      const id = '00000000-0000-4000-8000-000000000001';
      await log.append(stream, 0, [{ ...first!, id, type: 'StoreTeleported', data: { to: 'Mars' } }]);
      await log.close();
      await cli.run('projections', 'rebuild', '--dead-letter', '--realm', 'live');

      const shown = await cli.json('events', 'show', stream);
      expect(shown.dead_letter).toMatchObject({ stream, revision: 1 });
      expect(shown.events).toMatchObject([
        { type: 'StoreCreated', data: { name: 'Shop' } },
        { type: 'StoreTeleported', data: { to: 'Mars' }, error: 'unknown event type StoreTeleported' },
      ]);
      const { stdout } = await cli.run('events', 'show', stream);
      expect(stdout).toContain(
        '    "to": "Mars"\n  }\n  cannot be read: unknown event type StoreTeleported\n  dead letter: ',
      );
    }));

  test('says which stream it does not find', () =>
    withCatalog(async ({ cli }) => {
      const missing = 'live.store-00000000-0000-4000-8000-000000000001';
      expectFailure(await cli.run('events', 'show', missing), 1, `The stream ${missing} has no events.`);
      expectFailure(await cli.run('events', 'show', 'store'), 2, 'Invalid stream "store"');
    }));
});

describe('export and import', () => {
  test('a catalog moves from SQLite to EventStoreDB and back, and what was purged stays erased', () =>
    withCatalog(async ({ folder, cli, account, store }) => {
      const owner = ['--account', account, '--store', store];
      const { key } = await cli.json('key', 'create', '--type', 'public', ...owner);
      const fileOf = (name: string) => join(folder, `${name}.jsonl`);
      // A second store, in which one publication was purged and then imported again.
      const test_store = await cli.store(account, '--test');
      const import_rows = ['import', fileOf('rows'), '--format', 'jsonl', '--store', test_store];
      await cli.json(...import_rows);
      const { stdout } = await cli.run('events', 'tail', '--store', test_store, '--last', '50');
      const [purged, id] = /test\.publication-([-0-9a-f]{36})/.exec(stdout)!;
      await cli.json('test-data', 'reset', '--account', account, '--yes');
      await cli.json('purge', id!, '--yes');
      await cli.json(...import_rows);

      const server = await EventStoreStandIn.start({ folder: join(folder, 'server') });
      const second = new InProcessCli(join(folder, 'second'), { EVENTSTORE_URL: server.url });
      const third = new InProcessCli(join(folder, 'third'));
      const catalogs: [string, Cli][] = [
        ['first', cli],
        ['second', second],
        ['third', third],
      ];
      try {
        let before: string | undefined;
        for (const [name, each] of catalogs) {
          if (before) {
            const { events, appended, realms } = await each.json('events', 'import', before);
            expect(appended).toBe(events);
            expect(realms.map(({ outcome }: { outcome: string }) => outcome)).toEqual(
              REALMS.map(() => 'activated'),
            );
          }
          expect((await each.json('projections', 'verify')).clean).toBe(true);
          await each.json('events', 'export', fileOf(name));
          before = fileOf(name);
        }
        const texts = catalogs.map(([name]) => readFileSync(fileOf(name), 'utf8'));
        expect(texts[2]).toBe(texts[1]);
        // In the copies, the first event of the purged stream has the revision 0, which the hashes include. The last line is
        // the end of the file.
        const comparable = texts.map((text) =>
          eventsIn(text)
            .slice(0, -1)
            .map(({ hash: _, ...event }) => (event.stream === purged ? { ...event, revision: null } : event)),
        );
        expect(comparable[1]).toEqual(comparable[0]);
        expect(statSync(fileOf('first')).mode & 0o077).toBe(0);
        for (const of_store of [store, test_store]) {
          const products = catalogs.map(
            async ([, each]) => (await each.run('export', '--format', 'jsonl', '--store', of_store)).stdout,
          );
          const [exported, ...copies] = await Promise.all(products);
          expect(exported).toContain('"Mug"');
          expect(copies).toEqual([exported, exported]);
        }

        for (const each of [second, third]) {
          const { events: left } = await each.json('events', 'show', purged);
          expect(left).toMatchObject([{ type: 'PublicationErased', revision: 0 }]);
          expect(await each.json('purge', id!, '--yes')).toMatchObject({ erased_events: 0 });
          expect(await each.json('events', 'import', fileOf('first'))).toMatchObject({ appended: 0 });
        }
        expectFailure(await cli.run('events', 'export', fileOf('first')), 1, 'exists. Use another name.');
        expect((await third.json('key', 'find', key)).status).toBe('active');
      } finally {
        await server.stop();
      }
    }));

  test('an import that was killed is continued', () =>
    withCatalog(async ({ folder, cli, store }) => {
      const path = join(folder, 'events.jsonl');
      const { events } = await cli.json('events', 'export', path);
      const target = join(folder, 'target');
      const dying = new Cli(target, { NODE_OPTIONS: preload('die-after-append'), DIE_AFTER_APPENDS: '5' });
      expect((await dying.run('events', 'import', path)).code).toBeNull();

      const other = new InProcessCli(target);
      const part = await other.json('events', 'export', join(folder, 'part.jsonl'));
      expect(part.events).toBeGreaterThanOrEqual(5);
      expect(await other.json('events', 'import', path)).toMatchObject({
        events,
        appended: events - part.events,
      });
      await other.json('events', 'export', join(folder, 'whole.jsonl'));
      expect(readFileSync(join(folder, 'whole.jsonl'), 'utf8')).toBe(readFileSync(path, 'utf8'));
      expect((await other.json('projections', 'verify')).clean).toBe(true);
      expect((await other.run('export', '--format', 'jsonl', '--store', store)).stdout).toContain('"Mug"');
    }));

  test('an import that an outage ended, or Ctrl-C, is continued', () =>
    withCatalog(async ({ folder, cli }) => {
      const path = join(folder, 'events.jsonl');
      const { events } = await cli.json('events', 'export', path);
      const logs = {
        control: new MemoryEventStore(),
        live: new MemoryEventStore(),
        test: new MemoryEventStore(),
      };
      const { append } = logs.live;
      let appends_left = 5;
      jest.spyOn(logs.live, 'append').mockImplementation((...args) => {
        if (appends_left-- === 0) throw new Error('outage');
        return append.apply(logs.live, args);
      });
      const stored = () => REALMS.reduce((sum, realm) => sum + logs[realm].log.length, 0);
      const importing = (stop_after = Number.POSITIVE_INFINITY) => {
        const stop = new AbortController();
        const on_progress = (done: number) => {
          if (done >= stop_after) stop.abort();
        };
        return importEvents(logs, path, { signal: stop.signal, on_progress });
      };
      await expect(importing()).rejects.toThrow('outage');
      const before = stored();
      expect(before).toBeGreaterThan(5);
      const { appended } = await importing(before + 1);
      expect(appended).toBeGreaterThan(0);
      expect(stored()).toBe(before + appended);
      const left = events - stored();
      expect(left).toBeGreaterThan(0);
      expect(await importing()).toEqual({ events, appended: left });
      expect(await importing()).toEqual({ events, appended: 0 });
    }));

  test('an event without its data is reported and moved', () =>
    withCatalog(async ({ folder, cli, store }) => {
      const log = await openEventStore(parseConfig({ DATA_DIR: cli.folder }), 'live');
      const stream = streamName('live', 'store', store);
      const [first] = await log.readStream(stream);
      const id = '00000000-0000-4000-8000-000000000001';
      await log.append(stream, 0, [{ ...first!, id, type: 'unreadable StoreRenamed', data: {} }]);
      await log.close();
      const { code, stderr } = await cli.run('events', 'export', join(folder, 'events.jsonl'));
      expect([code, stderr]).toEqual([1, expect.stringContaining(`an event of ${stream} cannot be read`)]);
      expect(eventsIn(readFileSync(join(folder, 'events.jsonl'), 'utf8'))).toContainEqual(
        expect.objectContaining({ id, stream, revision: 1 }),
      );
    }));

  test('a file that was changed is refused before anything is written', () =>
    withCatalog(async ({ folder, cli }) => {
      const path = join(folder, 'events.jsonl');
      await cli.json('events', 'export', path);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      const other = new InProcessCli(join(folder, 'other'));
      const refusals: [string[], string][] = [
        [lines.map((line) => line.replace('"Kitchen"', '"Garden"')), 'was changed'],
        [lines.toSpliced(7, 1), 'Line 8 of'],
        [lines.toSpliced(7, 2, lines[8]!, lines[7]!), 'Line 8 of'],
        // Lines are counted as in an editor.
        [['', ...lines.toSpliced(7, 1)], 'Line 9 of'],
        [[...lines, lines.at(-1)!], `Line ${lines.length + 1} of`],
        [lines.slice(0, -1), 'is incomplete'],
        [lines.slice(1), 'was not written by "catalog events export"'],
        [[], 'is incomplete'],
      ];
      for (const [changed, message] of refusals) {
        writeFileSync(path, changed.join('\n'));
        expectFailure(await other.run('events', 'import', path), 1, message);
      }
      expect((await other.json('events', 'export', join(folder, 'none.jsonl'))).events).toBe(0);
    }));

  test('a catalog with other events is left alone', () =>
    withCatalog(async ({ folder, cli }) => {
      const path = join(folder, 'events.jsonl');
      const other = new InProcessCli(join(folder, 'other'));
      await other.account();
      await cli.json('events', 'export', path);
      expectFailure(
        await other.run('events', 'import', path),
        1,
        /^catalog: The log of control contains event 0 of/,
      );
      // Also a log that contains the whole file and more.
      await cli.account();
      expectFailure(
        await cli.run('events', 'import', path),
        1,
        /^catalog: The log of control contains event 0 of/,
      );
    }));
});

const here = ownShop({ is_own: true });
const { send } = here;
const TEA = { price_currency: 'EUR', price_amount: 4 };

const titleOf = async (id: string): Promise<string> =>
  (await send('GET', `/api/publication/${id}`)).body.data.title;

/** Runs commands beside the service. */
const operator = () => new InProcessCli(here.harness.data_dir);

function fileWith(content: unknown): string {
  const path = join(here.harness.data_dir, `${randomUUID()}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Creates a publication with an event that cannot be read, and a readable one after it. */
async function damagedPublication(
  damage: object = { data: { title: { wrong: true } } },
): Promise<{ id: string; stream: StreamName }> {
  const { body } = await send('POST', '/api/publication', { body: { ...TEA, title: 'Tea' } });
  const { id } = body.data;
  const stream = streamName('live', 'publication', id);
  const { live } = here.harness.deps.events;
  await send('PATCH', `/api/publication/${id}`, { body: { title: 'Green tea' } });
  await send('PATCH', `/api/publication/${id}`, { body: { price_amount: 5 } });
  const [, described, priced] = await live.readStream(stream);
  const unreadable = { ...described!, id: randomUUID(), ...damage };
  const price = { ...priced!, id: randomUUID(), data: { ...priced!.data, price_amount: 7 } };
  expect(await live.append(stream, 2, [unreadable, price])).toMatchObject({ outcome: 'appended' });
  // A write to the stream is refused as long as nobody knows what it contains.
  expect((await send('PATCH', `/api/publication/${id}`, { body: { title: 'Mint' } })).status).toBe(500);
  return { id, stream };
}

const TEXTS = { title: 'Black tea', description: '', description_html: '', free_shipping: false };
const DESCRIBED = { type: 'PublicationDescribed', data: TEXTS };

describe('catalog events supersede', () => {
  test('mends a stream for documents, reads, writes, the feed, a rebuild and a copy of the log', async () => {
    const { id, stream } = await damagedPublication();
    await waitFor(
      async () => (await operator().json('projections', 'dead-letters')).dead_letters.length === 1,
    );
    expect(await titleOf(id)).toBe('Green tea');

    const file = fileWith(DESCRIBED);
    const mended = await operator().json(
      'events',
      'supersede',
      stream,
      '3',
      '--with',
      file,
      '--reason',
      'damaged',
    );
    expect(mended).toMatchObject({ stream, revision: 3, correction: 5 });
    expect(mended.versions).toEqual([expect.objectContaining({ dead_letter: null })]);

    await waitFor(async () => (await titleOf(id)) === 'Black tea');
    const read = async () => (await send('GET', `/api/publication/${id}`)).body.data;
    expect(await read()).toMatchObject({ title: 'Black tea', price_amount: 7 });
    const history = (await send('GET', `/api/publication/${id}/history`)).body.data as Change[];
    expect(
      history.map(({ revision, changed }) => [revision, changed.title?.after, changed.price_amount?.after]),
    ).toEqual([
      [5, undefined, 7],
      [4, 'Black tea', undefined],
      [3, undefined, 5],
      [2, 'Green tea', undefined],
      [1, 'Tea', 4],
    ]);
    expect(
      (await send('PATCH', `/api/publication/${id}`, { body: { title: 'Mint' } })).body.data,
    ).toMatchObject({
      title: 'Mint',
      price_amount: 7,
    });
    expect(await operator().json('projections', 'verify')).toMatchObject({ clean: true });
    await operator().json('projections', 'rebuild', '--realm', 'live');
    expect(await operator().json('projections', 'verify')).toMatchObject({ clean: true });
    expect(await read()).toMatchObject({ title: 'Mint', price_amount: 7 });

    const copy = join(here.harness.data_dir, 'events.jsonl');
    await operator().run('events', 'export', copy);
    const other = new InProcessCli(join(here.harness.data_dir, 'copy'));
    await other.json('events', 'import', copy);
    expect(await other.json('projections', 'verify')).toMatchObject({ clean: true });
    expect(await other.json('projections', 'dead-letters')).toMatchObject({ dead_letters: [] });
  });

  test('an event is corrected once, and then shown as corrected', async () => {
    const { id, stream } = await damagedPublication();
    const supersede = (title: string) => {
      const file = fileWith({ ...DESCRIBED, data: { ...TEXTS, title } });
      return operator().run('events', 'supersede', stream, '3', '--with', file, '--reason', title);
    };
    expect((await supersede('First')).code).toBe(0);
    expectFailure(await supersede('Second'), 1, 'is corrected already');
    const { body } = await send('PATCH', `/api/publication/${id}`, { body: { price_amount: 8 } });
    expect(body.data.title).toBe('First');
    expect((await operator().run('events', 'show', stream)).stdout).toContain('corrected by event 5');
  });

  test('an event whose metadata are damaged, too, is mended by the next rebuild', async () => {
    const { id, stream } = await damagedPublication({ metadata: { by: 'hand' } });
    const file = fileWith(DESCRIBED);
    const { versions } = await operator().json(
      ...['events', 'supersede', stream, '3', '--with', file, '--reason', 'damaged'],
    );
    expect(versions).toEqual([]);
    await operator().json('projections', 'rebuild', '--realm', 'live');
    await waitFor(async () => (await titleOf(id)) === 'Black tea');
    expect(await operator().json('projections', 'verify')).toMatchObject({ clean: true });
  });

  test('refuses what would not mend the stream', async () => {
    const { stream } = await damagedPublication();
    const supersede = (revision: string, content: unknown, name: string = stream) =>
      operator().run('events', 'supersede', name, revision, '--with', fileWith(content), '--reason', 'test');
    expectFailure(await supersede('1', DESCRIBED), 1, 'can be read');
    expectFailure(await supersede('9', DESCRIBED), 1, 'has no event 9');
    expectFailure(await supersede('3', 'not json'), 1, 'JSON');
    expectFailure(await supersede('3', { ...DESCRIBED, data: { title: 7 } }), 1, 'does not match its schema');
    expectFailure(
      await supersede('3', { type: 'PublicationErasedTwice', data: {} }),
      1,
      'PublicationErasedTwice',
    );
    expectFailure(await supersede('3', { ...DESCRIBED, reason: 'x' }), 1, 'reason');
    const elsewhere = { type: 'PublicationErased', data: { store_id: randomUUID() } };
    expectFailure(await supersede('3', elsewhere), 1, 'the store of the stream is');
    expectFailure(await supersede('0', DESCRIBED, `control.account-${randomUUID()}`), 1, 'API keys');
    expect(await here.harness.deps.events.live.readStream(stream)).toHaveLength(5);
  });
});
