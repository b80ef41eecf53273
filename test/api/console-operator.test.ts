import { dropUnused } from '../../projections/maintenance/rebuild';
import { errorCatalogue } from '../../shared/api/error-catalogue';
import { type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { PARTITION_COUNT, partitionOf } from '../../shared/catalog/events/partitions';
import { CatalogError } from '../../shared/kernel/errors';
import { ALL_PARTS } from '../../shared/ports/view-store';
import { nextBatch } from '../contract/some-documents';
import { openPage } from '../support/console';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

const TOKEN = 'an operator token of 32 characters';
const UNREADABLE = '01890000-0000-7000-8000-00000000000';

let harness: Harness;
let shop: Shop;
let cookie = '';

beforeAll(async () => {
  harness = await startHarness({
    is_own: true,
    environment: { CONSOLE: 'on', CONSOLE_OPERATOR_TOKEN: TOKEN },
  });
  shop = await harness.newShop();
});
afterAll(() => harness?.close());

interface Sent {
  readonly form?: Record<string, string>;
  readonly origin?: string;
  readonly cookie?: string;
  readonly base?: string;
}

const open = (path: string, { form, base = '/console/operator', ...headers }: Sent = {}) =>
  openPage(harness.url + base + path, { ...(form && { form }), headers: { cookie, ...headers } });

async function signIn(): Promise<void> {
  const { status, headers, location } = await open('/sign-in', { form: { token: TOKEN } });
  expect([status, location]).toEqual([303, '/console/operator']);
  const set = headers.get('set-cookie')!;
  expect(set).toMatch(
    /^catalog_operator=\d+-[\w-]+\.[\w-]+; Path=\/console\/operator; Max-Age=3600; HttpOnly; SameSite=Strict$/,
  );
  cookie = set.split(';')[0]!;
}

beforeEach(() => {
  cookie = '';
});

describe('the sign-in', () => {
  test('takes the token only, and ends with the sign-out', async () => {
    const others = ['/stores', '/release?action=skip', '/task?realm=live&task=rebuild', '/task?realm=live'];
    for (const path of ['', '/dead-letters', '/events', '/stream', ...others])
      expect((await open(path)).html).toContain('<h1>Operator</h1>');
    for (const token of ['', `${TOKEN}.`, TOKEN.slice(1), shop.secret.key]) {
      const refused = await open('/sign-in', { form: { token } });
      expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
    }
    await signIn();
    const page = await open('');
    expect([page.status, page.html]).toEqual([200, expect.stringContaining('<h1>Ready</h1>')]);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    const out = await open('/sign-out', { form: {} });
    expect(out.headers.get('set-cookie')).toMatch(/^catalog_operator=; .*Max-Age=0/);
    expect((await open('')).html).toContain('Sign in');
    await signIn();
    const [until, signature] = cookie.split('=')[1]!.split('.');
    for (const forged of [`9${until}.${signature}`, `${until}.`, `.${signature}`, 'x'])
      expect((await open('', { cookie: `catalog_operator=${forged}` })).html).toContain('Sign in');
  });

  test("a merchant's session is not one of an operator, nor the other way round", async () => {
    const signed_in = await open('/sign-in', { form: { key: shop.secret.key }, base: '/console' });
    const [name, value] = signed_in.headers.get('set-cookie')!.split(';')[0]!.split('=') as [string, string];
    const of_merchant = `${name}=${value}`;
    expect((await open('/products', { base: '/console', cookie: of_merchant })).status).toBe(200);
    for (const each of [of_merchant, `catalog_operator=${value}`])
      expect((await open('/stores', { cookie: each })).html).toContain('<h1>Operator</h1>');
    await signIn();
    for (const each of [cookie, cookie.replace('operator', 'console')]) {
      const { html } = await open('/products', { base: '/console', cookie: each });
      expect(html).toContain('Secret key');
    }
  });
});

test('the health page shows the versions and partitions of each realm', async () => {
  await signIn();
  await harness.settled();
  const { html } = await open('');
  const head = await harness.service.runtime.events.live.head();
  expect(html).toContain(`The log ends at <span class="head">${head}</span>.`);
  expect(html).toMatch(/<h2>live<\/h2>.*<dt>event store<\/dt><dd>ok<\/dd>.*<td>v1<\/td><td>active<\/td>/);
  const { viewStores } = harness.service.runtime;
  await viewStores.test.setPaused(true);
  await waitFor(async () => (await open('')).html.includes('<dt>paused since</dt>'));
  await viewStores.test.setPaused(false);
});

test('the script of the health page reads the partitions of each realm, and draws with files of this service', async () => {
  await signIn();
  await harness.settled();
  const head = Number(await harness.service.runtime.events.live.head());
  const { status, html, headers } = await open('/status');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  const live = JSON.parse(html).find(({ realm }: { realm: string }) => realm === 'live');
  const each = (value: number) => Array(PARTITION_COUNT).fill(value);
  expect(live).toEqual({ realm: 'live', head, position: each(head), lag: each(0), dead_letters: each(0) });
  expect((await open('/status', { cookie: '' })).status).toBe(401);

  const asset = async (pattern: RegExp, text: string): Promise<string> => {
    const file = await open(pattern.exec(text)![1]!, { base: '' });
    expect([file.status, file.headers.get('cache-control')]).toEqual([
      200,
      expect.stringContaining('immutable'),
    ]);
    return file.html;
  };
  const page = await open('');
  await asset(/href="(\/uplot-\w+\.css)"/, page.html);
  const script = await asset(/src="(\/console-plots-\w+\.mjs)"/, page.html);
  expect(await asset(/from '(\/uplot-\w+\.mjs)'/, script)).toContain('export { uPlot as default }');
});

describe('a task', () => {
  beforeEach(signIn);
  // A dead letter would be in the retired version, too.
  afterAll(() => dropUnused(harness.service.runtime.viewStores.live));

  const start = (task: string, sent: Sent = {}) => open('/task', { form: { realm: 'live', task }, ...sent });
  const stop = () => open('/task', { form: { realm: 'live', action: 'stop' } });
  const shown = (text: string) =>
    waitFor(
      async () => {
        const { html } = await open('/task?realm=live');
        return html.includes(text) && html;
      },
      { what: text },
    );

  test('rebuilds the documents in another process, and shows the version that is active then', async () => {
    expect((await open('/task?realm=live')).html).toContain('<h1>Nothing runs</h1>');
    expect((await open('/task?realm=live&task=rebuild')).html).toContain('<h1>Rebuild live</h1>');
    for (const path of ['/task?realm=live&task=drop', '/task?realm=none&task=rebuild', '/task?realm=none'])
      expect((await open(path)).status).toBe(404);
    for (const origin of ['https://evil.example', 'null', ''])
      expect((await start('rebuild', { origin })).status).toBe(403);
    expect((await start('rebuild', { cookie: '' })).html).toContain('<h1>Operator</h1>');
    expect((await open('/task?realm=live')).html).toContain('<h1>Nothing runs</h1>');

    const { status, location } = await start('rebuild');
    expect([status, location]).toEqual([303, '/console/operator/task?realm=live']);
    await shown('Version v2 is active. Version v1 is retired.');
    expect((await open('/task?realm=live')).headers.get('refresh')).toBeNull();
    const health = (await open('')).html;
    expect(health).toMatch(/<td>v2<\/td><td>active<\/td>.*<td>v1<\/td><td>retired<\/td>/);
    expect(health).toContain('task?realm=live">rebuild: rebuilt</a>');
    expect(await harness.client(shop.secret).store.get()).toMatchObject({ id: shop.store_id });
  });

  test('is the only one of its realm, and can be stopped; the next rebuild continues', async () => {
    // On a busy machine, it may end before it is looked at.
    await waitFor(async () => {
      await start('rebuild');
      const [running, refused] = [await open('/task?realm=live'), await start('verify')];
      await stop();
      const stopped = await open('/task?realm=live');
      const is_shown = running.headers.get('refresh') === '2' && running.html.includes('Stop</button>');
      const is_refused = refused.status === 409 && refused.html.includes('A rebuild of live is running.');
      return is_shown && is_refused && stopped.html.includes('Stopped. It continues');
    });
    // A rebuild that a busy machine was late to stop is killed, and holds its lease for a while.
    await waitFor(async () => {
      const { html } = await open('/task?realm=live');
      const is_running = html.includes('Stop</button>');
      if (html.includes('is active.')) return true;
      if (!is_running) await start('rebuild');
      return false;
    });
  });

  test('says that a command line rebuilds the realm', async () => {
    const views = harness.service.runtime.viewStores.live;
    const owner = `pid:${process.pid}:test`;
    await waitFor(() => views.lease('rebuild', owner, 60_000));
    try {
      await start('rebuild');
      await shown('A rebuild of live is already running.');
    } finally {
      await views.release('rebuild', owner);
    }
  });

  test('finds a document that differs from the log, and repairs it', async () => {
    const { publications } = harness.client(shop.secret);
    const { id } = await publications.create({ title: 'Cup', price_currency: 'USD', price_amount: 900 });
    await harness.settled();
    await start('verify');
    await shown('Clean.');

    const views = harness.service.runtime.viewStores.live;
    const active = (await views.versions()).find(({ status }) => status === 'active')!;
    const version = await views.open(active.version);
    const partition = partitionOf(shop.store_id, views.partition_count);
    await waitFor(async () => {
      const { position, document } = (await version.get('publications', id, ALL_PARTS))!;
      const changed = { ...document!, body: { ...document!.body, title: '<b>Changed by hand' } };
      const write = { collection: 'publications', id, position: position + 1n, document: changed } as const;
      return (await version.apply(await nextBatch(version, { partition, writes: [write] }))) === 'applied';
    });
    await start('verify');
    expect(await shown('Differences: 1.')).toContain(
      '<td>body.title</td><td>"Cup"</td><td>"&lt;b>Changed by hand"</td>'.replaceAll('"', '&quot;'),
    );
    await start('repair');
    await shown('Rewritten: 1.');
    expect((await publications.get(id)).title).toBe('Cup');
  });
});

test.each([
  ['too_large', 413],
  ['unavailable', 503],
] as const)('a page that fails with %s answers with %i', async (condition, status) => {
  await signIn();
  const { live } = harness.service.runtime.events;
  const readStream = live.readStream.bind(live);
  const stream = streamName('live', 'store', shop.store_id);
  const reading = jest.spyOn(live, 'readStream');
  reading.mockImplementation(async (...args) => {
    if (args[0] === stream) throw new CatalogError(condition);
    return readStream(...args);
  });
  try {
    const page = await open(`/stream?name=${stream}`);
    expect([page.status, page.html]).toEqual([
      status,
      expect.stringContaining(errorCatalogue[condition].message),
    ]);
  } finally {
    reading.mockRestore();
  }
});

test('the stores and accounts are listed, names as text', async () => {
  await signIn();
  const store_id = await harness.newStore('test', '<b>Shop</b>');
  const { html } = await open('/stores');
  expect(html).toContain('<td>&lt;b>Shop&lt;/b></td>');
  expect(html).toContain(`/events?realm=test&amp;store=${store_id}"><code>${store_id}</code>`);
  expect(html).toContain(`<code>${harness.account_id}</code>`);
});

test('webhooks that do not send are listed with the reason', async () => {
  await signIn();
  const shop = await harness.newShop();
  const { webhooks } = harness.client(shop.secret);
  const { id } = await webhooks.create({ url: 'https://example.com/sends' });
  await webhooks.create({ url: 'https://example.com/sends-still' });
  await webhooks.update(id, { status: 'paused' });
  await harness.settled();
  const { html } = await open('/stores');
  expect(html).toContain('<td>https://example.com/sends</td><td>paused</td><td>by the merchant</td>');
  expect(html).not.toContain('sends-still');
});

test('the newest events are found by realm, store and type, and each stream is shown', async () => {
  await signIn();
  const other = await harness.newShop();
  const { publications, webhooks } = harness.client(other.secret);
  const ids: string[] = [];
  for (let n = 0; n < 51; n++)
    ids.push((await publications.create({ title: `T${n}`, price_currency: 'USD', price_amount: n })).id);
  const { secret } = await webhooks.create({ url: 'https://example.com/hook' });
  const filter = `/events?realm=live&store=${other.store_id}&type=PublicationCreated`;
  const first = await open(filter);
  expect(first.html).toContain(`live.publication-${ids[50]}`);
  expect(first.html).toContain(`live.publication-${ids[1]}`);
  expect(first.html).not.toContain(`live.publication-${ids[0]}`);
  expect(first.html).not.toContain('<td>StoreCreated</td>');
  const older = /href="[^"]*operator(\/events[^"]*before=\d+)"/
    .exec(first.html)![1]!
    .replaceAll('&amp;', '&');
  expect((await open(older)).html).toContain(`live.publication-${ids[0]}`);
  expect((await open(`/events?store=${shop.store_id}&type=NoSuchType`)).html).toContain('None.');
  expect((await open('/events?realm=control')).html).toContain('<td>AccountCreated</td>');

  const { html } = await open(`/stream?name=live.publication-${ids[0]}`);
  expect(html).toContain('<h2>0 · PublicationCreated</h2>');
  expect(html).toContain('&quot;title&quot;: &quot;T0&quot;');
  expect((await open('/stream?name=live.store-nothing')).status).toBe(404);
  expect((await open('/stream?name=nothing')).status).toBe(404);

  const hooks = await open(`/events?store=${other.store_id}&type=WebhookCreated`);
  const hook = /name=(live\.webhook-[-\w]+)/.exec(hooks.html)![1]!;
  const shown = await open(`/stream?name=${hook}`);
  expect(shown.html).toContain('&quot;secret&quot;: &quot;(hidden)&quot;');
  expect(shown.html).not.toContain(secret);
});

describe('a dead letter', () => {
  /** Appends an event that no worker can read, as one of a later release would be. */
  async function appendUnreadable(n: number): Promise<StreamName> {
    const stream = streamName('live', 'listing', `${UNREADABLE}${n}`);
    const metadata = {
      occurred_at: new Date().toISOString(),
      partition_key: shop.store_id,
      store_id: shop.store_id,
      source: 'system' as const,
    };
    await harness.service.runtime.events.live.append(stream, -1, [
      { id: `${UNREADABLE}${n}`, type: 'OfALaterRelease', schema_version: 1, data: { n }, metadata },
    ]);
    await waitFor(async () => (await open('/dead-letters')).html.includes(stream));
    return stream;
  }

  const planIn = (html: string): string => /name="plan" value="([^"]*)"/.exec(html)![1]!;

  beforeEach(signIn);

  test('is shown, retried and skipped with those of its group', async () => {
    const streams = [await appendUnreadable(1), await appendUnreadable(2)];
    const { html } = await open('/dead-letters');
    const group = /action=retry&amp;group=(\w+)/.exec(html)![1]!;
    expect(html).toMatch(new RegExp(`<code>${group}</code>.{1,400}<td class="number">2</td>`));
    const form = async (action: string) => {
      const asked = await open(`/release?action=${action}&group=${group}`);
      for (const stream of streams) expect(asked.html).toContain(stream);
      return { action, group, plan: planIn(asked.html) };
    };
    const failed = await open('/release', { form: await form('retry') });
    expect(decodeURIComponent(failed.location).replaceAll('+', ' ')).toContain('Failed again: 2.');
    expect((await open('/dead-letters')).html).toContain('unknown event type OfALaterRelease');

    const skip = await form('skip');
    for (const origin of ['https://evil.example', 'null', ''])
      expect((await open('/release', { form: skip, origin })).status).toBe(403);
    streams.push(await appendUnreadable(3));
    const changed = await open('/release', { form: skip });
    expect(changed.html).toContain('The list has changed meanwhile. Look again.');
    const shown = await open(`/stream?name=${streams[0]}`);
    expect(shown.html).toContain('Cannot be read: unknown event type OfALaterRelease');
    expect(shown.html).toContain('Event 0 is a dead letter.');
    expect(shown.html).toContain('<h2>0 · OfALaterRelease · dead letter</h2>');
    const done = await open('/release', { form: { ...skip, plan: planIn(changed.html) } });
    expect(done.location).toContain('Projected+again%3A+3+streams');
    expect((await open('/dead-letters')).html).toContain('<h2>Streams</h2><p class="note">None.</p>');
    expect((await open('/release', { form: skip })).status).toBe(404);
  });

  test('that can be projected now leaves the list after a retry', async () => {
    const { publications } = harness.client(shop.secret);
    const { id } = await publications.create({ title: 'Tea', price_currency: 'USD', price_amount: 1_250 });
    const stream = streamName('live', 'publication', id);
    const { events, viewStores } = harness.service.runtime;
    const [created] = await events.live.readStream(stream);
    await harness.settled();
    const [active] = await viewStores.live.versions();
    const version = await viewStores.live.open(active!.version);
    const partition = partitionOf(shop.store_id, viewStores.live.partition_count);
    const { position, revision } = created!;
    const letter = {
      stream,
      partition,
      revision,
      position,
      reason: 'it broke',
      failed_at: '2026-01-01T00:00:00Z',
    };
    await waitFor(async () => {
      const batch = await nextBatch(version, { partition, dead_letters: [letter] });
      return (await version.apply(batch)) === 'applied';
    });
    const asked = await open(`/release?action=retry&stream=${stream}`);
    expect(asked.html).toContain('it broke');
    const done = await open('/release', { form: { action: 'retry', stream, plan: planIn(asked.html) } });
    expect(done.location).toContain('Projected+again%3A+1+stream.');
    expect((await publications.get(id)).title).toBe('Tea');
  });
});
