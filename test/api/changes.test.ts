import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import { breakNextAppend } from '../support/idempotent';
import { runs, SEED } from '../support/long';
import { Dice } from '../support/raw-requests';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { expectFailure, InProcessCli } from './cli-run';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

const here = ownShop({ is_own: true });
const { send } = here;
const create = async (path: string, body: object): Promise<string> =>
  (await send('POST', path, { body })).body.data.id;

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly resource_id: string;
  readonly revision: number;
  readonly actor: object;
  readonly changed: Record<string, { before: unknown; after: unknown }>;
}

interface Read {
  readonly entries: Entry[];
  readonly next: string;
  readonly is_up_to_date: boolean;
}

async function read(query: string): Promise<Read> {
  const { status, headers, body } = await send('GET', `/api/changes?${query}`);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  const next = headers.get('stream-next-offset')!;
  return { entries: body, next, is_up_to_date: headers.get('stream-up-to-date') === 'true' };
}

/** Follows the feed from an offset to its end, as a consumer does. */
async function follow(offset: string, query = ''): Promise<Read & { readonly pages: number }> {
  const entries: Entry[] = [];
  for (let pages = 1; ; pages++) {
    const page = await read(`offset=${offset}${query}`);
    entries.push(...page.entries);
    if (page.is_up_to_date) return { ...page, entries, pages };
    offset = page.next;
  }
}

const typesOf = ({ entries }: Read): string[] => entries.map(({ type }) => type);

/** What a consumer knows of each resource. */
type Copy = Map<string, { readonly revision: number; readonly values: Record<string, unknown> }>;

/** Applies changes to a copy, as docs/interface/changes.md says. */
function apply(copy: Copy, { entries }: Pick<Read, 'entries'>): void {
  for (const { type, resource_id, revision, changed } of entries) {
    const known = copy.get(resource_id);
    if (known && known.revision >= revision) continue;
    const after = Object.entries(changed).map(([name, values]) => [name, values.after]);
    if (type.endsWith('.deleted')) copy.delete(resource_id);
    else copy.set(resource_id, { revision, values: { ...known?.values, ...Object.fromEntries(after) } });
  }
}

/** A client that reads server-sent events. */
class ServerEvents {
  text = '';

  private constructor(readonly reply: IncomingMessage) {
    reply.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
    });
    reply.on('error', () => {});
  }

  static async open(offset: string): Promise<ServerEvents> {
    const headers = { authorization: `Bearer ${here.shop.secret.token}` };
    const request = get(`${here.harness.url}/api/changes?offset=${offset}&live=sse`, { headers });
    const [reply] = await once(request, 'response');
    return new ServerEvents(reply);
  }

  leave(): void {
    this.reply.destroy();
  }
}

describe('GET /api/changes', () => {
  test('shows each change with the values before and after, and who made it', async () => {
    const { next: start } = await read('offset=now');
    const listing_id = await create('/api/listing', { name: 'Drinks' });
    const id = await create('/api/publication', { ...TEA, listing_id, tags: ['new'] });
    await send('PATCH', `/api/publication/${id}`, { body: { title: 'Green tea', price_amount: 990 } });
    await send('PATCH', `/api/publication/${id}`, { body: { title: 'Green tea' } });
    await send('DELETE', `/api/publication/${id}`);
    await send('POST', `/api/publication/${id}/restore`);
    await send('PATCH', '/api/store', { body: { description: 'Teas' } });
    const { entries } = await follow(start);
    expect(entries).toMatchObject([
      { type: 'listing.created', resource_id: listing_id, revision: 1 },
      { type: 'publication.created', resource_id: id, revision: 1 },
      { type: 'publication.updated', resource_id: id },
      { type: 'publication.deleted', changed: {} },
      { type: 'publication.restored', changed: {} },
      { type: 'store.updated', resource_id: here.shop.store_id },
    ]);
    const [, created, updated] = entries as [Entry, Entry, Entry];
    // Only fields of the interface.
    expect(Object.keys(created.changed)).not.toContain('former_listings');
    expect(created.changed).toMatchObject({
      title: { before: null, after: 'Tea' },
      price_amount: { before: null, after: 1_250 },
      listing_id: { before: null, after: listing_id },
      tags: { before: null, after: ['new'] },
    });
    // The write has appended two events.
    expect(updated.changed).toEqual({
      title: { before: 'Tea', after: 'Green tea' },
      price_amount: { before: 1_250, after: 990 },
    });
    expect(created.actor).toEqual({ type: 'key', id: here.shop.secret.id, name: expect.any(String) });
    expect(JSON.stringify(entries)).not.toMatch(/fingerprint|operation_id|traceparent/);
    // Offsets sort as texts, and revisions of a resource grow.
    const offsets = entries.map((entry) => entry.id);
    expect([...offsets].sort()).toEqual(offsets);
    for (const entry of entries) expect(entry.id).toMatch(/^\d{20}-[0-9a-f]{8}$/);
    const revisions = entries.filter((entry) => entry.resource_id === id).map(({ revision }) => revision);
    expect([...revisions].sort((a, b) => a - b)).toEqual(revisions);
  });

  test('a variant has changes of its own', async () => {
    const options = [{ name: 'Size', values: [] }];
    const variants = [{ option_values: { Size: 'S' }, quantity_available: 5 }];
    const id = await create('/api/publication', { ...TEA, options, variants });
    const { next } = await read('offset=now');
    const added = await create(`/api/publication/${id}/variants`, {
      option_values: { Size: 'M' },
      price_amount: 5,
    });
    await send('PATCH', `/api/variant/${added}`, { body: { price_amount: 7 } });
    await send('DELETE', `/api/variant/${added}`);
    const { entries } = await follow(next);
    const own = { resource: 'variant', resource_id: added, publication_id: id };
    expect(entries).toMatchObject([
      { type: 'publication.updated', resource_id: id, changed: { options: {} } },
      { ...own, type: 'variant.created', changed: { price_amount: { before: null, after: 5 } } },
      { ...own, type: 'variant.updated' },
      { ...own, type: 'variant.deleted', changed: {} },
    ]);
    expect(entries[2]!.changed).toEqual({ price_amount: { before: 5, after: 7 } });
  });

  test('a write changes each resource once, also if its events lie between those of another', async () => {
    const options = [{ name: 'Size', values: [] }];
    const variants = [{ option_values: { Size: 'S' }, price_amount: 5 }];
    const id = await create('/api/publication', { ...TEA, options, variants });
    const { next } = await read('offset=now');
    const changes = { title: 'Green tea', handle: 'green-tea', vendor: 'Rimac' };
    const body = { ...changes, variants: [{ option_values: { Size: 'S' }, price_amount: 7 }] };
    await send('PATCH', `/api/publication/${id}`, { body });
    const { entries } = await follow(next);
    expect(entries.map(({ type }) => type).sort()).toEqual(['publication.updated', 'variant.updated']);
    const { changed } = entries.find(({ type }) => type === 'publication.updated')!;
    expect(changed).toMatchObject(
      Object.fromEntries(Object.entries(changes).map(([name, after]) => [name, { after }])),
    );
  });

  test('a creation that never happened is in no change, also when its names are used next', async () => {
    const { next } = await read('offset=now');
    const external_id = 'erp-1';
    const handle = 'tea';
    const { live } = here.harness.deps.events;
    breakNextAppend(live, 'before', new CatalogError('unavailable'));
    expectError(
      await send('POST', '/api/publication', { body: { ...TEA, external_id, handle } }),
      503,
      'SERVICE_UNAVAILABLE',
    );
    const id = await create('/api/publication', { ...TEA, handle });
    await send('PATCH', `/api/publication/${id}`, { body: { external_id } });
    const { entries } = await follow(next);
    expect(entries.map(({ type, resource_id }) => [type, resource_id])).toEqual([
      ['publication.created', id],
      ['publication.updated', id],
    ]);
  });

  test('filters by type, resource and field; the offset moves on', async () => {
    const { next } = await read('offset=now');
    const id = await create('/api/publication', TEA);
    await send('PATCH', `/api/publication/${id}`, { body: { title: 'Mate' } });
    await send('PATCH', `/api/publication/${id}`, { body: { price_amount: 3 } });
    await create('/api/listing', { name: 'Cups' });
    await send('DELETE', `/api/publication/${id}`);
    const of = async (query: string) => typesOf(await follow(next, query));
    expect(await of('&resource=listing')).toEqual(['listing.created']);
    expect(await of('&type=publication.deleted,listing.created')).toEqual([
      'listing.created',
      'publication.deleted',
    ]);
    expect(await of('&resource=publication&fields=price_amount')).toEqual([
      'publication.created',
      'publication.updated',
      'publication.deleted',
    ]);
    const none = await follow(next, '&resource=media');
    expect([none.entries, none.next > next]).toEqual([[], true]);
  });

  test('a copy begins with what exists, and misses nothing that is written meanwhile', async () => {
    const listing_id = await create('/api/listing', { name: 'Drinks' });
    const options = [{ name: 'Size', values: [] }];
    const variants = [{ option_values: { Size: 'S' }, quantity_available: 5 }];
    const id = await create('/api/publication', { ...TEA, listing_id, options, variants });
    const gone = await create('/api/publication', TEA);
    await create(`/api/publication/${id}/reviews`, { rating: 5, body: 'Good', author_name: 'Rosa' });
    await send('DELETE', `/api/publication/${gone}`);
    // A busy machine may refuse to check all of them at once.
    const items = Array.from({ length: 40 }, () => ({ action: 'create', body: TEA }));
    for (let batch = 0; batch < 3; batch++)
      expect((await send('POST', '/api/publications/batch', { body: { items } })).status).toBe(200);

    const copy: Copy = new Map();
    const offsets: string[] = [];
    let page = await read('offset=snapshot');
    for (let n = 0; !page.is_up_to_date; n++) {
      apply(copy, page);
      offsets.push(page.next);
      await send('PATCH', `/api/publication/${id}`, { body: { title: `Tea ${n}` } });
      if (n === 2) await create('/api/publication', { ...TEA, title: 'Late' });
      if (n === 3) await send('DELETE', `/api/listing/${listing_id}`);
      page = await read(`offset=${page.next}`);
    }
    apply(copy, page);
    expect([...offsets].sort()).toEqual(offsets);
    for (const offset of offsets) expect(offset).toMatch(/^[^.]{1,200}$/);

    const from_snapshot = new Map(copy);
    copy.clear();
    apply(copy, await follow('-1'));
    expect(from_snapshot.get(id)).toMatchObject({ values: { variants: [{ quantity_available: 5 }] } });
    expect(from_snapshot).toEqual(copy);
    const own = await follow('snapshot', '&resource=listing,review');
    expect(typesOf(own)).toEqual(['review.created']);
  });

  test('a consumer that dies again and again while others write ends with what reads show', async () => {
    const DEATHS = runs(10, 100);
    /** So many that some publications remain, however soon the consumer has died often enough. */
    const WRITES_MIN = 60;
    const dice = new Dice(SEED);
    const ids: string[] = [];
    let is_writing = true;
    const write = async (n: number): Promise<void> => {
      const id = ids[dice.below(ids.length)];
      if (id === undefined || dice.chance(0.3))
        ids.push(await create('/api/publication', { ...TEA, title: `Tea ${n}` }));
      else if (dice.chance(0.1)) await send('DELETE', `/api/publication/${id}`);
      else
        await send('PATCH', `/api/publication/${id}`, { body: { title: `Tea ${n}`, price_amount: n + 1 } });
    };
    const writing = (async () => {
      for (let n = 0; is_writing || n < WRITES_MIN; n++) await write(n);
    })();
    /** What survives a death. It is stored after each page, together. */
    let stored: { readonly offset: string; readonly copy: Copy } = { offset: '-1', copy: new Map() };
    for (let deaths = 0; deaths < DEATHS; ) {
      const memory = new Map(stored.copy);
      const page = await read(`offset=${stored.offset}&resource=publication`);
      apply(memory, page);
      if (page.entries.length > 0 && dice.chance(0.7)) deaths++;
      else stored = { offset: page.next, copy: memory };
    }
    is_writing = false;
    await writing;
    const { entries } = await follow(stored.offset, '&resource=publication');
    apply(stored.copy, { entries });
    const shown = await here.harness.client(here.shop.secret).publications.list().all();
    const seen = shown.map(({ id, title, price_amount }) => [id, { title, price_amount }] as const);
    const kept = [...stored.copy].map(([id, { values }]) => {
      const { title, price_amount } = values;
      return [id, { title, price_amount }] as const;
    });
    expect(new Map(kept)).toEqual(new Map(seen));
    expect(kept.length).toBeGreaterThan(3);
  });

  test('an event that cannot be read is left out, of a copy and a history too', async () => {
    const id = await create('/api/publication', TEA);
    await send('PATCH', `/api/publication/${id}`, { body: { title: 'Green tea' } });
    const other = await create('/api/publication', { ...TEA, title: 'Maté' });
    const { live } = here.harness.deps.events;
    const stream = streamName('live', 'publication', id);
    const [, described] = await live.readStream(stream);
    // Of a newer release: this one would append nothing after an event that it cannot read.
    const unreadable = {
      ...described!,
      id: randomUUID(),
      type: 'PublicationTeleported',
      data: { to: 'Mars' },
    };
    const later = {
      ...described!,
      id: randomUUID(),
      data: { ...described!.data, title: 'Black tea' },
      metadata: { ...described!.metadata, request_id: 'another-write' },
    };
    expect(
      await live.append(stream, 1, [unreadable, later, { ...unreadable, id: randomUUID() }]),
    ).toMatchObject({ outcome: 'appended', revision: 4 });

    const seen = ({ entries }: Read) =>
      entries.map(({ revision, changed }) => [revision, changed.title?.after]);
    const query = '&resource=publication';
    expect(seen(await follow('-1', query))).toEqual([
      [1, 'Tea'],
      [2, 'Green tea'],
      [1, 'Maté'],
      [4, 'Black tea'],
    ]);
    expect(seen(await follow('snapshot', query))).toEqual([
      [4, 'Black tea'],
      [1, 'Maté'],
    ]);
    const history = await send('GET', `/api/publication/${id}/history`);
    expect(history.body.data.map(({ revision }: Entry) => revision)).toEqual([4, 2, 1]);
    const as_of = await send('GET', `/api/publication/${id}?as_of=${new Date().toISOString()}`);
    expect(as_of.body.data.title).toBe('Black tea');
    expect((await send('PATCH', `/api/publication/${id}`, { body: { title: 'Tea' } })).status).toBe(500);
    expect((await send('GET', `/api/publication/${other}`)).status).toBe(200);
  });

  test('are events of CloudEvents if the client accepts these', async () => {
    const id = await create('/api/publication', TEA);
    const headers = { Accept: 'application/cloudevents-batch+json' };
    const reply = await send('GET', '/api/changes?resource=publication', { headers });
    expect(reply.headers.get('content-type')).toBe(headers.Accept);
    const [change] = (await read('offset=-1&resource=publication')).entries;
    expect(JSON.parse(reply.text)).toEqual([
      {
        specversion: '1.0',
        id: change!.id,
        source: `/api/store?store_id=${here.shop.store_id}`,
        type: 'publication.created',
        subject: id,
        time: expect.any(String),
        datacontenttype: 'application/json',
        sequence: change!.id,
        data: change,
      },
    ]);
  });

  test('has pages that repeat and miss nothing, also of the changes of another store', async () => {
    const { next } = await read('offset=now');
    const other = await here.harness.newShop();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const items = Array.from({ length: 26 }, () => ({ action: 'create', body: TEA }));
      const { data } = (await send('POST', '/api/publications/batch', { body: { items } })).body;
      ids.push(...data.items.map(({ id }: { id: string }) => id));
      await send('POST', '/api/publication', { token: other.secret.token, body: TEA });
    }
    const { entries, pages } = await follow(next);
    expect(pages).toBeGreaterThan(1);
    // The items of a batch are written at the same time, so in any order.
    expect(entries.map(({ resource_id }) => resource_id).sort()).toEqual(ids.sort());
  });

  test('a long poll waits for the next change, and ends with 204 without one', async () => {
    const waiting = send('GET', '/api/changes?offset=now&live=long-poll&resource=listing');
    const { next } = await read('offset=now');
    await create('/api/publication', TEA);
    const empty = await waiting;
    expect([empty.status, empty.text, empty.headers.get('stream-up-to-date')]).toEqual([204, '', 'true']);
    expect(empty.headers.get('stream-next-offset')! > next).toBe(true);
    const again = send('GET', `/api/changes?offset=${next}&live=long-poll&resource=listing`);
    const listing_id = await create('/api/listing', { name: 'Pots' });
    const found = await waitFor(async () => {
      const { status, body } = await again;
      return status === 200 ? body : (await read(`offset=${next}&resource=listing`)).entries;
    });
    expect(found).toMatchObject([{ type: 'listing.created', resource_id: listing_id }]);
  });

  test('server-sent events show changes while the connection is open', async () => {
    const { next } = await read('offset=now');
    const reader = await ServerEvents.open(next);
    const { statusCode, headers } = reader.reply;
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(headers['stream-next-offset']).toMatch(/^\d{20}-/);
    const id = await create('/api/publication', TEA);
    // The two events after the change may come in two pieces.
    await waitFor(
      () => /event: data\n.*event: control\n.*\n\n$/s.test(reader.text) && reader.text.includes(id),
    );
    reader.leave();
    const events = reader.text.trimEnd().split('\n\n');
    const data = events.find((event) => event.startsWith('event: data\n'))!;
    expect(JSON.parse(data.split('data: ')[1]!)).toMatchObject([
      { type: 'publication.created', resource_id: id },
    ]);
    const control = JSON.parse(events.at(-1)!.replace('event: control\ndata: ', ''));
    expect(control).toMatchObject({ streamNextOffset: expect.stringMatching(/^\d{20}-/), upToDate: true });
    expect(await follow(control.streamNextOffset)).toMatchObject({ entries: [] });
  });

  test('a change is read once for all who follow the store', async () => {
    const READERS = 20;
    const readers = await Promise.all(Array.from({ length: READERS }, () => ServerEvents.open('now')));
    await waitFor(() => readers.every(({ text }) => text.includes('event: control')));
    const { live } = here.harness.deps.events;
    const subscribed = jest.spyOn(live, 'subscribe');
    try {
      const id = await create('/api/publication', TEA);
      await waitFor(() => readers.every(({ text }) => text.includes(id)), { what: 'the change' });
      // The pipelines of the service follow the log since its start.
      expect(subscribed).not.toHaveBeenCalled();
    } finally {
      subscribed.mockRestore();
      for (const reader of readers) reader.leave();
    }
  });

  test('a key has 100 open reads of changes at most', async () => {
    const first = await ServerEvents.open('now');
    const others = await Promise.all(Array.from({ length: 99 }, () => ServerEvents.open('now')));
    const refused = await send('GET', '/api/changes?live=sse');
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED');
    expect(refused.headers.get('retry-after')).toBe('5');
    const { token } = (await here.harness.newShop()).secret;
    expect((await send('GET', '/api/changes', { token })).status).toBe(200);
    first.leave();
    await waitFor(async () => (await send('GET', '/api/changes')).status === 200, { what: 'a free slot' });
    for (const reader of others) reader.leave();
  });

  test('the client yields changes as they come, and continues after one', async () => {
    const client = here.harness.client(here.shop.secret);
    const { id } = await client.publications.create(TEA);
    const found: string[] = [];
    let last = '';
    for await (const change of client.store.changes({ resource: ['publication'] })) {
      found.push(change.resource_id);
      last = change.id;
      if (found.length === 1) found.push((await client.publications.create(TEA)).id);
      else break;
    }
    expect([found[0], found[2]]).toEqual([id, found[1]]);
    await client.publications.delete(id);
    const reader = here.harness.client(here.shop.secret, { consistent: true });
    for await (const change of reader.store.changes({ after: last })) {
      expect(change).toMatchObject({ type: 'publication.deleted', resource_id: id });
      break;
    }
    // Its reads wait for what it has heard of.
    expect(Number(reader.position)).toBeGreaterThanOrEqual(Number(client.position));
  });

  test('refuses public keys, unknown offsets and offsets of another log', async () => {
    const { next } = await read('offset=now');
    const shown = await send('GET', '/api/changes', { token: here.shop.public.token });
    expectError(shown, 403, 'INSUFFICIENT_PERMISSIONS');
    expectError(await send('GET', '/api/changes?offset=12'), 400, 'VALIDATION_ERROR', 'offset');
    expectError(await send('GET', `/api/changes?offset=${next}~x`), 400, 'VALIDATION_ERROR', 'offset');
    const flipped = next.endsWith('0') ? '1' : '0';
    const foreign = await send('GET', `/api/changes?offset=${next.slice(0, -1)}${flipped}`);
    expectError(foreign, 409, 'CONFLICT');
    const beyond = await send('GET', `/api/changes?offset=${'9'.repeat(19).padStart(20, '0')}-00000000`);
    expectError(beyond, 409, 'CONFLICT');
    const head = await send('HEAD', '/api/changes');
    expect([head.status, head.headers.get('stream-next-offset')! >= next]).toEqual([200, true]);
  });
});

test('catalog changes prints them, after one and with the next ones', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(join(folder, 'data'));
    const store = await cli.store(await cli.account());
    const file = join(folder, 'rows.jsonl');
    const importRow = async (price: string): Promise<void> => {
      writeFileSync(file, JSON.stringify({ external_id: 'mug', title: 'Mug', price }));
      await cli.json('import', file, '--format', 'jsonl', '--store', store);
    };
    await importRow('4');
    const changes = (...options: string[]) => cli.run('changes', '--store', store, ...options);
    const first = (await changes('--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first.map(({ type }) => type)).toEqual(['store.created', 'publication.created']);
    expect(first[1].actor).toEqual({ type: 'import' });
    await importRow('5');
    const { stdout } = await changes('--after', first[1].id);
    expect(stdout).toMatch(
      /^\S+Z {2}publication\.updated {2}\S+ {2}by import {2}\S+\n {2}price_amount: 400 → 500\n$/,
    );
    expectFailure(await changes('--after', 'x'), 2, /Invalid --after/);

    const history = (id: string, ...options: string[]) =>
      cli.run('history', id, '--store', store, ...options);
    const lines = (await history(first[1].resource_id)).stdout
      .split('\n')
      .filter((line) => line.includes('Z  '));
    expect(lines).toMatchObject(
      [/publication\.created/, /publication\.updated/].map((type) => expect.stringMatching(type)),
    );
    const [created] = (await history(store, '--json')).stdout.trim().split('\n');
    expect(JSON.parse(created!)).toEqual(first[0]);
    expectFailure(await history(randomUUID()), 1, /no resource/);
  }));
