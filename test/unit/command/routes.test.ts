import { pino } from 'pino';
import { createListing } from '../../../services/command/listing';
import { commandRoutes } from '../../../services/command/routes';
import { changeStoreStatus } from '../../../services/command/store';
import type { JsonObject, Position } from '../../../shared/catalog/events/envelope';
import { laneOf } from '../../../shared/catalog/events/lanes';
import type { Store } from '../../../shared/catalog/store/store';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../../shared/http/route';
import type { StoreId } from '../../../shared/kernel/ids';
import type { ActiveView } from '../../../shared/ports/view-store';
import { noMedia } from '../../support/no-media';
import { faultsOf, newId, refusal, World } from './support';

const LANES = 8;
const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1 };

interface Sent {
  readonly id?: string;
  readonly body?: JsonObject;
  readonly store_id?: string | readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly stores?: readonly StoreId[];
  readonly operation?: ApiRequest['operation'];
}

/** The write endpoints of an account with two stores; the view is projected as `waited` says. */
class Counter {
  readonly world = new World();
  readonly waits: { lane: number; position: Position; timeout_ms: number }[] = [];
  view: { waitFor: () => Promise<boolean> } | undefined | Error = { waitFor: async () => true };
  readonly stores: Store[] = [];

  static async open(): Promise<Counter> {
    const counter = new Counter();
    const account = await counter.world.account();
    counter.stores.push(
      await counter.world.store('live', account),
      await counter.world.store('live', account),
    );
    return counter;
  }

  get first(): StoreId {
    return this.stores[0]!.id;
  }

  get second(): StoreId {
    return this.stores[1]!.id;
  }

  private readonly activeView = {
    lane_count: LANES,
    current: async () => {
      const { view } = this;
      if (view instanceof Error) throw view;
      if (view === undefined) return undefined;
      return {
        waitFor: (lane: number, position: Position, timeout_ms: number) => {
          this.waits.push({ lane, position, timeout_ms });
          return view.waitFor();
        },
      };
    },
  } as unknown as ActiveView;

  private readonly routes = commandRoutes({
    system: this.world.system,
    events: this.world.events,
    views: { live: this.activeView, test: this.activeView },
    log: pino({ level: 'silent' }),
    ...noMedia,
  });

  async send(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const route = this.routes.find((known) => known.method === method && known.path === path);
    if (!route) throw new Error(`no ${method} ${path}`);
    const stores = sent.stores ?? this.stores.map((store) => store.id);
    const store_ids = sent.store_id === undefined ? [] : [sent.store_id].flat();
    const request: ApiRequest = {
      method: route.method,
      principal: {
        api_key_id: newId(),
        account_id: newId(),
        key_type: 'secret',
        environment: 'live',
        stores,
        permissions: permissionsOf('secret'),
      },
      params: sent.id === undefined ? {} : { id: sent.id },
      query: store_ids.length === 0 ? {} : { store_id: store_ids },
      body: sent.body ?? {},
      request_id: newId(),
      header: (name) => sent.headers?.[name],
      ...(sent.operation === undefined ? {} : { operation: sent.operation }),
    };
    return route.handler(request);
  }

  async created(sent: Sent = {}): Promise<string> {
    const answer = await this.send('POST', '/api/publication', { body: tea, ...sent });
    return (answer.data as { id: string }).id;
  }

  async listing(): Promise<string> {
    const target = { environment: 'live', store_id: this.first } as const;
    return (await createListing(this.world, this.world.context(), target, { name: 'Teas' })).value.id;
  }
}

const condition = async (call: Promise<unknown>): Promise<string> => (await refusal(() => call)).condition;

test('every write endpoint is there, with the permission of what it writes', async () => {
  const counter = await Counter.open();
  const listed = commandRoutes({
    ...counter.world,
    ...noMedia,
    views: {} as never,
    log: pino({ level: 'silent' }),
  });
  expect(listed.map(({ method, path, permission }) => `${method} ${path} ${permission}`)).toEqual([
    'POST /api/publication write:publications',
    'PATCH /api/publication/:id write:publications',
    'DELETE /api/publication/:id write:publications',
    'POST /api/listing write:listings',
    'PATCH /api/listing/:id write:listings',
    'DELETE /api/listing/:id write:listings',
    'POST /api/media write:media',
    'DELETE /api/media/:id write:media',
  ]);
});

describe('the store that a write goes to', () => {
  const storeOf = async (counter: Counter, sent: Sent): Promise<unknown> => {
    await counter.created(sent);
    return counter.world.events.live.log.at(-1)?.metadata.store_id;
  };

  test("is the token's first, the query's, or the body's", async () => {
    const counter = await Counter.open();
    const { first, second } = counter;
    expect(await storeOf(counter, {})).toBe(first);
    expect(await storeOf(counter, { store_id: second })).toBe(second);
    expect(await storeOf(counter, { store_id: second.toUpperCase() })).toBe(second);
    expect(await storeOf(counter, { body: { ...tea, store_id: second } })).toBe(second);
    expect(await storeOf(counter, { body: { ...tea, store_id: null }, store_id: second })).toBe(second);
    expect(await storeOf(counter, { body: { ...tea, store_id: second }, store_id: second })).toBe(second);
  });

  test('is not two at once', async () => {
    const counter = await Counter.open();
    const sent = { body: { ...tea, store_id: counter.first }, store_id: counter.second };
    expect(await faultsOf(() => counter.created(sent))).toEqual([['field_invalid', 'store_id']]);
    const twice = { store_id: [counter.first, counter.second] };
    expect(await condition(counter.created(twice))).toBe('invalid_query');
  });

  test("is one of the token's", async () => {
    const counter = await Counter.open();
    expect(await condition(counter.created({ store_id: newId() }))).toBe('store_access_denied');
    expect(await condition(counter.created({ body: { ...tea, store_id: newId() } }))).toBe(
      'store_access_denied',
    );
    expect(await condition(counter.created({ stores: [] }))).toBe('store_access_denied');
    expect(await condition(counter.created({ store_id: 'shop' }))).toBe('invalid_uuid');
  });

  test('is there and active, as of a second ago', async () => {
    const counter = await Counter.open();
    const { world, first } = counter;
    const id = await counter.created();
    expect(await condition(counter.created({ stores: [newId()] }))).toBe('store_not_found');
    await changeStoreStatus(world, world.context(), { environment: 'live', id: first }, 'suspended');
    world.now_ms += 1_000;
    expect(await condition(counter.created())).toBe('store_not_found');
    const title = { body: { title: 'X' }, id };
    expect(await condition(counter.send('PATCH', '/api/publication/:id', title))).toBe('store_not_found');
    expect(await condition(counter.send('DELETE', '/api/publication/:id', { id }))).toBe('store_not_found');
  });
});

describe('a write by id', () => {
  test("finds only what is in the token's stores, and in the one that is named", async () => {
    const counter = await Counter.open();
    const id = await counter.created();
    const body = { title: 'X' };
    const patch = (sent: Sent) => counter.send('PATCH', '/api/publication/:id', { id, body, ...sent });
    expect(await condition(patch({ stores: [counter.second] }))).toBe('publication_not_found');
    expect(await condition(patch({ store_id: counter.second }))).toBe('publication_not_found');
    expect(await condition(patch({ store_id: newId() }))).toBe('store_access_denied');
    expect(await condition(patch({ id: newId() }))).toBe('publication_not_found');
    expect((await patch({ store_id: counter.first })).data).toMatchObject(body);

    const listing = await counter.listing();
    const remove = (sent: Sent) => counter.send('DELETE', '/api/listing/:id', { id: listing, ...sent });
    expect(await condition(remove({ stores: [counter.second] }))).toBe('listing_not_found');
    expect((await remove({})).data).toEqual({ id: listing, object: 'listing', deleted: true });
    expect(await condition(remove({}))).toBe('listing_not_found');
  });

  test('holds to If-Match', async () => {
    const counter = await Counter.open();
    const id = await counter.created();
    const patch = (match: string, title: string) =>
      counter.send('PATCH', '/api/publication/:id', { id, body: { title }, headers: { 'if-match': match } });
    expect((await patch('"1-abc"', 'Herbs')).version).toBe(2);
    expect(await condition(patch('"1-abc"', 'Oolong'))).toBe('precondition_failed');
    expect((await patch('W/"2-abc"', 'Oolong')).version).toBe(3);
    expect((await patch('*', 'Mate')).version).toBe(4);
    const remove = { id, headers: { 'if-match': '"1-abc"' } };
    expect(await condition(counter.send('DELETE', '/api/publication/:id', remove))).toBe(
      'precondition_failed',
    );
  });
});

describe('the answer of a write', () => {
  test('waits, at most a second, until its own event is projected in its lane', async () => {
    const counter = await Counter.open();
    const answer = await counter.send('POST', '/api/listing', { body: { name: 'Teas' } });
    const { id } = answer.data as { id: string };
    expect(answer).toMatchObject({
      status: 201,
      version: 1,
      data: { object: 'listing', name: 'Teas', stats: { media_count: 0, publication_count: 0 } },
      headers: { Location: `/api/listing/${id}`, 'X-Catalog-Position': '3' },
    });
    expect(counter.waits).toEqual([{ lane: laneOf(counter.first, LANES), position: 3n, timeout_ms: 1_000 }]);
  });

  test('that changed nothing tells and waits for the last position of the resource', async () => {
    const counter = await Counter.open();
    const id = await counter.created();
    await counter.created();
    const same = await counter.send('PATCH', '/api/publication/:id', { id, body: tea });
    expect(same).toMatchObject({ version: 1, headers: { 'X-Catalog-Position': '3' } });
    expect(counter.waits.at(-1)?.position).toBe(3n);
  });

  test('does not wait where the client prefers so', async () => {
    const counter = await Counter.open();
    const prefer = { prefer: 'handling=strict, respond-async; wait=10' };
    const { headers } = await counter.send('POST', '/api/publication', { body: tea, headers: prefer });
    expect(headers).toMatchObject({ 'X-Catalog-Position': '3', 'Preference-Applied': 'respond-async' });
    expect(counter.waits).toEqual([]);
  });

  test.each([
    ['the projection is late', { waitFor: async () => false }],
    ['the view store fails', new Error('gone')],
    ['nothing was ever projected', undefined],
  ])('is a success all the same where %s', async (_case, view) => {
    const counter = await Counter.open();
    counter.view = view;
    const answer = await counter.send('POST', '/api/publication', { body: tea });
    expect(answer).toMatchObject({ status: 201, headers: { 'X-Catalog-Position': '3' } });
    expect(answer.headers).not.toHaveProperty('Preference-Applied');
  });

  test('has in the log who asked, also by which idempotency key and for which operation', async () => {
    const counter = await Counter.open();
    const operation = { id: newId(), idempotency_key: 'once', started_at_ms: 0, resumed: false };
    await counter.created({ operation });
    expect(counter.world.events.live.log.at(-1)?.metadata).toMatchObject({
      source: 'api',
      idempotency_key: 'once',
      operation_id: operation.id,
      store_id: counter.first,
    });
  });
});
