import type { CatalogClient, Webhook } from '../../shared/client';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { isSignedWith, Receiver } from '../support/receiver';
import { waitFor } from '../support/wait-for';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
/** So short that a test sees all attempts, and so many as there are. */
const QUICK = { retries_ms: Array.from({ length: 9 }, () => 10), search_ms: 20 };

let harness: Harness;
let shop: Shop;
let merchant: CatalogClient;
let receiver: Receiver;
let webhook: Webhook;

beforeAll(async () => {
  const environment = { WEBHOOKS: 'private' };
  harness = await startHarness({ environment, webhook_times: QUICK });
});
beforeEach(async () => {
  shop = await harness.newShop();
  merchant = harness.client(shop.secret, { consistent: true });
  receiver = await Receiver.start();
});
afterEach(() => receiver.close());
afterAll(() => harness?.close());

const received = (count: number) =>
  waitFor(() => receiver.received.length >= count && receiver.received, { what: `${count} messages` });
const deliveries = () => merchant.webhooks.deliveries(webhook.id).all();
const statusIs = (status: Webhook['status']) =>
  waitFor(async () => (await merchant.webhooks.get(webhook.id)).status === status, { what: status });

describe('a webhook', () => {
  test('sends each change in its order, as the feed shows it, signed with its secret', async () => {
    await merchant.publications.create({ ...TEA, title: 'Before' });
    webhook = await merchant.webhooks.create({ url: receiver.url, description: 'ERP' });
    const tea = await merchant.publications.create(TEA);
    await merchant.publications.update(tea.id, { price_amount: 990 });
    await merchant.publications.delete(tea.id);
    const messages = await received(3);
    expect(receiver.types).toEqual(['publication.created', 'publication.updated', 'publication.deleted']);

    const feed = await harness.request('GET', `/api/changes?offset=${webhook.after}`, {
      token: shop.secret.token,
    });
    expect(messages.map(({ data }) => data)).toEqual(feed.body);
    for (const message of messages) {
      expect(message.id).toBe(message.data.id);
      expect(isSignedWith(webhook.secret!, message)).toBe(true);
      expect(isSignedWith(webhook.secret!, { ...message, body: `${message.body} ` })).toBe(false);
    }
    const shown = await waitFor(async () => {
      const found = await deliveries();
      return found.length === 3 && found;
    });
    expect(shown.map(({ id }) => id)).toEqual(messages.map(({ id }) => id).reverse());
    expect(shown[0]).toMatchObject({
      ...{ type: 'publication.deleted', resource_id: tea.id, attempt: 1, response_status: 204 },
    });
  });

  test('costs what it sends, however many others the store has', async () => {
    const WEBHOOKS = 15;
    for (let n = 0; n < WEBHOOKS; n++) webhook = await merchant.webhooks.create({ url: receiver.url });
    const isIdle = async () => {
      const all = await merchant.webhooks.list().all();
      return all.length === WEBHOOKS && all.every(({ pending_count }) => pending_count === 0);
    };
    await merchant.publications.create(TEA);
    await received(WEBHOOKS);
    await waitFor(isIdle);
    const read = jest.spyOn(harness.deps.events.live, 'readStream');
    await merchant.publications.create(TEA);
    await received(2 * WEBHOOKS);
    await waitFor(async () => (await deliveries()).length === 2);
    const { length } = read.mock.calls;
    read.mockRestore();
    // A webhook reads its state before and after it sends. If it did so at each message of another one, it would be 450.
    expect(length).toBeLessThan(10 * WEBHOOKS);
  });

  test('sends only the events that it wants, and of those only changes of the fields', async () => {
    const events = [
      { type: 'publication.updated' as const, fields: ['price_amount'] },
      { type: 'listing.created' as const },
    ];
    webhook = await merchant.webhooks.create({ url: receiver.url, events });
    const tea = await merchant.publications.create(TEA);
    await merchant.publications.update(tea.id, { title: 'Green tea' });
    await merchant.publications.update(tea.id, { title: 'Tea', price_amount: 1 });
    await merchant.listings.create({ name: 'Drinks' });
    await received(2);
    expect(receiver.types).toEqual(['publication.updated', 'listing.created']);
    // A message has all fields that the write has changed.
    expect(receiver.received[0]!.data.changed).toEqual({
      title: { before: 'Green tea', after: 'Tea' },
      price_amount: { before: 1_250, after: 1 },
    });
  });

  test('shows its secret only when it is made, and signs with both during a rotation', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    const shown = [await merchant.webhooks.get(webhook.id), ...(await merchant.webhooks.list().all())];
    const { secret: old_secret, ...rest } = webhook;
    expect(shown).toMatchObject([rest, rest]);
    expect(JSON.stringify(shown)).not.toContain('whsec_');
    const { secret } = await merchant.webhooks.rotateSecret(webhook.id);
    await merchant.publications.create(TEA);
    const [message] = await received(1);
    expect([old_secret!, secret!].map((one) => isSignedWith(one, message!))).toEqual([true, true]);
    expect(message!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    expect(old_secret).not.toBe(secret);
  });

  test('sends the ids alone if a message would have 20 kB', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    const tea = await merchant.publications.create({ ...TEA, description: '€'.repeat(10_000) });
    const [message] = await received(1);
    expect(message!.data).toMatchObject({ type: 'publication.created', resource_id: tea.id });
    expect([message!.data.changed, message!.body.length < 1_000]).toEqual([undefined, true]);
    expect(isSignedWith(webhook.secret!, message!)).toBe(true);
  });

  test('is paused, changed and deleted', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    await merchant.webhooks.update(webhook.id, { status: 'paused' });
    const tea = await merchant.publications.create(TEA);
    await merchant.webhooks.update(webhook.id, { status: 'active', description: null });
    await received(1);
    expect(receiver.received[0]!.data.resource_id).toBe(tea.id);
    expect(await merchant.webhooks.delete(webhook.id)).toEqual({
      ...{ id: webhook.id, object: 'webhook', deleted: true },
    });
    await merchant.publications.update(tea.id, { title: 'Nobody hears this' });
    const path = `/api/webhook/${webhook.id}`;
    for (const [method, end] of [
      ['GET', ''],
      ['GET', '/deliveries'],
      ['POST', '/ping'],
      ['POST', '/rotate-secret'],
    ])
      expectError(
        await harness.request(method!, path + end, { token: shop.secret.token }),
        404,
        'WEBHOOK_NOT_FOUND',
      );
    // Another webhook of the store has heard of the change, so this one would have, too.
    const other = await Receiver.start();
    await merchant.webhooks.create({ url: other.url });
    await merchant.publications.update(tea.id, { title: 'Somebody hears this' });
    await waitFor(() => other.received.length === 1);
    other.close();
    expect(receiver.received).toHaveLength(1);
  });

  test('refuses what is not a webhook', async () => {
    const token = shop.secret.token;
    const post = (body: object) => harness.request('POST', '/api/webhook', { token, body });
    const controls = ['\r', '\n', '\t'].map((control) => `https://erp${control}.example`);
    const others = ['ftp://erp.example', 'https://user:pass@erp.example', 'https://erp.example/#a', 'erp'];
    for (const url of [...controls, ...others]) expectError(await post({ url }), 400, 'INVALID_URL', 'url');
    const good = { url: 'https://erp.example' };
    expectError(
      await post({ ...good, events: [{ type: 'publication.sold' }] }),
      400,
      'FIELD_INVALID',
      'events.0.type',
    );
    expectError(await post({}), 400, 'FIELD_REQUIRED', 'url');
    const options = { token: shop.public.token, body: good };
    expectError(await harness.request('POST', '/api/webhook', options), 403, 'INSUFFICIENT_PERMISSIONS');
    webhook = await merchant.webhooks.create(good);
    const stranger = (await harness.newShop()).secret.token;
    const path = `/api/webhook/${webhook.id}`;
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expectError(
        await harness.request(method, path, { token: stranger, ...(method === 'PATCH' && { body: good }) }),
        404,
        'WEBHOOK_NOT_FOUND',
      );
    await merchant.webhooks.update(webhook.id, { description: 'A' }, { ifMatch: webhook });
    await expect(
      merchant.webhooks.update(webhook.id, { description: 'B' }, { ifMatch: webhook }),
    ).rejects.toMatchObject({ status: 412 });
  });
});

describe('a message that is refused', () => {
  test('is sent again with the same id, and holds up only the later changes of its resource', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    const accepted: string[] = [];
    let is_refusing = true;
    let refusals = 0;
    receiver.answer = ({ data, type }) => {
      // A busy machine may take longer for the next writes than for all attempts at once, and the last one pauses the webhook.
      const headers = ++refusals > 2 ? { 'retry-after': '2' } : {};
      if (is_refusing && data.changed.title?.after === 'Tea') return { status: 500, headers };
      accepted.push(`${type} ${data.changed.title?.after}`);
      return { status: 200 };
    };
    const tea = await merchant.publications.create(TEA);
    await merchant.publications.update(tea.id, { title: 'Green tea', price_amount: 990 });
    await merchant.publications.create({ ...TEA, title: 'Coffee' });
    await waitFor(() => accepted.includes('publication.created Coffee'));
    await waitFor(() => receiver.received.filter(({ data }) => data.resource_id === tea.id).length >= 3);
    expect(accepted).toEqual(['publication.created Coffee']);
    is_refusing = false;
    await waitFor(() => accepted.length === 3);
    expect(accepted.slice(1)).toEqual(['publication.created Tea', 'publication.updated Green tea']);
    const updates = receiver.received.filter(({ type }) => type === 'publication.updated');
    expect(updates.map(({ data }) => Object.keys(data.changed))).toEqual([['title', 'price_amount']]);
    const ids = receiver.received.filter(
      ({ type, data }) => type.endsWith('created') && data.resource_id === tea.id,
    );
    expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    await waitFor(async () => (await merchant.webhooks.get(webhook.id)).pending_count === 0);
    const failed = (await deliveries()).filter(({ error }) => error !== undefined);
    expect(failed.at(-1)).toMatchObject({ attempt: 1, response_status: 500, error: 'status 500' });
    expect(Date.parse(failed.at(-1)!.next_attempt_at!)).toBeGreaterThan(Date.parse(failed.at(-1)!.at));
  });

  test('pauses the webhook after its last attempt, and is sent when the webhook is active again', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    receiver.answer = () => ({ status: 302, headers: { location: receiver.url } });
    await merchant.publications.create(TEA);
    await statusIs('paused');
    const paused = await merchant.webhooks.get(webhook.id);
    expect(paused).toMatchObject({ status_reason: 'status 302', pending_count: 1 });
    const attempts = await deliveries();
    expect(attempts.map(({ attempt }) => attempt)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(attempts[0]!.next_attempt_at).toBeUndefined();
    expect(receiver.received).toHaveLength(10);
    receiver.answer = () => ({ status: 200 });
    const active = await merchant.webhooks.update(webhook.id, { status: 'active' });
    expect([active.status, active.status_reason]).toEqual(['active', undefined]);
    await waitFor(async () => (await merchant.webhooks.get(webhook.id)).pending_count === 0);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  });

  test('does not keep a webhook from becoming active again while it is sent', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let tries = 0;
    receiver.answer = async ({ data }) => {
      if (data.changed.title?.after !== 'Tea') return { status: 200 };
      if (++tries > 1) await opened;
      return { status: 500 };
    };
    await merchant.publications.create(TEA);
    await waitFor(() => tries === 2);
    await merchant.webhooks.update(webhook.id, { status: 'paused' });
    // The loop that follows the changes sees the pause by this change.
    await merchant.publications.create({ ...TEA, title: 'Coffee' });
    await merchant.webhooks.update(webhook.id, { status: 'active' });
    open();
    await waitFor(() => receiver.received.some(({ data }) => data.changed.title?.after === 'Coffee'));
  });

  test('with 410 disables the webhook', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    receiver.answer = () => ({ status: 410 });
    await merchant.publications.create(TEA);
    await statusIs('disabled');
    expect((await merchant.webhooks.get(webhook.id)).status_reason).toBe('status 410');
    expect(receiver.received).toHaveLength(1);
  });

  test('is not sent again before the time that the receiver asks for', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    receiver.answer = () => ({ status: 503, headers: { 'retry-after': '3600' } });
    await merchant.publications.create(TEA);
    const [attempt] = await waitFor(async () => {
      const found = await deliveries();
      return found.length === 1 && found;
    });
    const wait_ms = Date.parse(attempt!.next_attempt_at!) - Date.parse(attempt!.at);
    expect(wait_ms).toBe(3_600_000);
  });

  test('is one if nobody listens', async () => {
    webhook = await merchant.webhooks.create({ url: receiver.url });
    receiver.close();
    await merchant.publications.create(TEA);
    await statusIs('paused');
    expect((await deliveries())[0]).toMatchObject({
      error: 'the receiver cannot be reached (ECONNREFUSED)',
    });
  });
});

test('a store has 20 webhooks at most, also if they are made at the same time', async () => {
  const url = 'https://erp.example';
  const create = (headers = {}) =>
    harness.request('POST', '/api/webhook', { token: shop.secret.token, body: { url }, headers });
  const key = { 'Idempotency-Key': 'the-last-one' };
  const answers = await Promise.all(Array.from({ length: 22 }, () => create({ Prefer: 'respond-async' })));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(20).fill(201), 409, 409]);
  expectError(answers.find(({ status }) => status === 409)!, 409, 'LIMIT_EXCEEDED');
  const [first] = await merchant.webhooks.list().all();
  await merchant.webhooks.delete(first!.id);
  const last = await create(key);
  expect([last.status, (await create(key)).body, (await create()).status]).toEqual([201, last.body, 409]);
});

test('a ping is sent once', async () => {
  webhook = await merchant.webhooks.create({ url: receiver.url });
  receiver.answer = () => ({ status: 500 });
  await merchant.webhooks.ping(webhook.id);
  await waitFor(
    async () => (await merchant.webhooks.get(webhook.id)).pending_count === 0 && receiver.received[0],
  );
  receiver.answer = () => ({ status: 200 });
  await merchant.webhooks.ping(webhook.id);
  const [refused, accepted] = await received(2);
  expect([refused!.type, accepted!.type]).toEqual(['webhook.ping', 'webhook.ping']);
  expect(accepted!.data).toEqual({ webhook_id: webhook.id, store_id: shop.store_id });
  expect(refused!.id).not.toBe(accepted!.id);
  const attempts = await waitFor(async () => {
    const found = await deliveries();
    return found.length === 2 && found;
  });
  expect(attempts.map(({ error, next_attempt_at }) => [error, next_attempt_at])).toEqual([
    [undefined, undefined],
    ['status 500', undefined],
  ]);
  expect((await merchant.webhooks.get(webhook.id)).status).toBe('active');
});

test('a replay sends the changes after one of them again', async () => {
  webhook = await merchant.webhooks.create({ url: receiver.url });
  const tea = await merchant.publications.create(TEA);
  for (const title of ['One', 'Two']) await merchant.publications.update(tea.id, { title });
  const [first] = await received(3);
  await merchant.webhooks.replay(webhook.id, { from: first!.id });
  const all = await received(5);
  expect(all.slice(3).map(({ id }) => id)).toEqual(all.slice(1, 3).map(({ id }) => id));
  const from = '00000000000000000001-ffffffff';
  await expect(merchant.webhooks.replay(webhook.id, { from })).rejects.toMatchObject({ status: 409 });
});

test('a receiver that answers without end is closed', async () => {
  webhook = await merchant.webhooks.create({ url: receiver.url });
  receiver.answer = () => ({ status: 200, body: endless() });
  const tea = await merchant.publications.create(TEA);
  await merchant.publications.update(tea.id, { title: 'Green tea' });
  await received(2);
  const attempts = await waitFor(async () => {
    const found = await deliveries();
    return found.length === 2 && found;
  });
  expect(attempts.map(({ error, response_status }) => [error, response_status])).toEqual([
    [undefined, 200],
    [undefined, 200],
  ]);
});

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) yield Buffer.alloc(10_000);
}

describe('addresses that are not on the public internet', () => {
  let closed: Harness;
  beforeAll(async () => {
    closed = await startHarness({ webhook_times: QUICK });
  });
  afterAll(() => closed?.close());

  test('and http:// are refused when a webhook is made or changed', async () => {
    const { token } = (await closed.newShop()).secret;
    const body = { url: 'http://erp.example' };
    expectError(await closed.request('POST', '/api/webhook', { token, body }), 400, 'INVALID_URL', 'url');
    const made = await closed.request('POST', '/api/webhook', {
      token,
      body: { url: 'https://erp.example' },
    });
    const path = `/api/webhook/${made.body.data.id}`;
    expectError(await closed.request('PATCH', path, { token, body }), 400, 'INVALID_URL', 'url');
  });

  test('are refused at every attempt', async () => {
    const other = await closed.newShop();
    const client = closed.client(other.secret, { consistent: true });
    const reasons = {
      'https://127.0.0.1:8443': 'the address is not public',
      'https://localhost:8443': 'the address is not public',
      'https://[::1]': 'the address is not public',
      'https://169.254.169.254/latest': 'the address is not public',
    };
    const webhooks = await Promise.all(
      Object.entries(reasons).map(async ([url, reason]) => {
        const { id } = await client.webhooks.create({ url });
        await client.webhooks.ping(id);
        return { url, reason, id };
      }),
    );
    await client.publications.create(TEA);
    for (const { url, reason, id } of webhooks) {
      await waitFor(async () => (await client.webhooks.get(id)).status === 'paused', { what: url });
      const attempts = await client.webhooks.deliveries(id).all();
      expect({ url, attempts: attempts.length }).toEqual({ url, attempts: 11 });
      for (const { error, response_status } of attempts)
        expect([url, error, response_status]).toEqual([url, reason, undefined]);
    }
  });
});
