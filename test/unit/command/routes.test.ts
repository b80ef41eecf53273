import { pino } from 'pino';
import { createListing } from '../../../services/command/listing';
import { commandRoutes } from '../../../services/command/routes';
import { changeStoreStatus } from '../../../services/command/store';
import type { JsonObject, Position } from '../../../shared/catalog/events/envelope';
import { partitionOf } from '../../../shared/catalog/events/partitions';
import type { Store } from '../../../shared/catalog/store/store';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../../shared/http/route';
import { parseConfig } from '../../../shared/kernel/config';
import type { StoreId } from '../../../shared/kernel/ids';
import type { ActiveView } from '../../../shared/ports/document-reader';
import { noMedia } from '../../support/no-media';
import { errorOf, newId, World } from './support';

const PARTITIONS = 8;
const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1 };

interface Sent {
  readonly id?: string;
  readonly body?: JsonObject;
  readonly query?: Readonly<Record<string, readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The write endpoints, with an account of two stores. `view` decides how waiting for the projection ends. */
class WriteApi {
  readonly world = new World();
  readonly waits: { partition: number; position: Position; timeout_ms: number }[] = [];
  view: { waitFor: () => Promise<boolean> } | undefined | Error = { waitFor: async () => true };
  readonly stores: Store[] = [];

  static async open(): Promise<WriteApi> {
    const api = new WriteApi();
    const account = await api.world.account();
    api.stores.push(await api.world.store('live', account), await api.world.store('live', account));
    return api;
  }

  get first(): StoreId {
    return this.stores[0]!.id;
  }

  get second(): StoreId {
    return this.stores[1]!.id;
  }

  private readonly activeView = {
    partition_count: PARTITIONS,
    current: async () => {
      const { view } = this;
      if (view instanceof Error) throw view;
      if (view === undefined) return undefined;
      return {
        waitFor: (partition: number, position: Position, timeout_ms: number) => {
          this.waits.push({ partition, position, timeout_ms });
          return view.waitFor();
        },
      };
    },
  } as unknown as ActiveView;

  private readonly routes = commandRoutes({
    config: parseConfig({}),
    system: this.world.system,
    events: this.world.events,
    views: { live: this.activeView, test: this.activeView, control: this.activeView },
    log: pino({ level: 'silent' }),
    ...noMedia,
  });

  async send(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const route = this.routes.find((one) => one.method === method && one.path === path);
    if (!route) throw new Error(`no ${method} ${path}`);
    const request: ApiRequest = {
      method: route.method,
      principal: {
        api_key_id: newId(),
        account_id: newId(),
        key_type: 'secret',
        environment: 'live',
        stores: this.stores.map((store) => store.id),
        permissions: permissionsOf('secret'),
      },
      params: sent.id === undefined ? {} : { id: sent.id },
      query: { ...sent.query },
      body: sent.body ?? {},
      request_id: newId(),
      answer_by_ms: performance.now() + 60_000,
      assertAwaited: () => {},
      header: (name) => sent.headers?.[name],
    };
    return route.handler(request);
  }

  async created(): Promise<string> {
    const answer = await this.send('POST', '/api/publication', { body: tea });
    return (answer.data as { id: string }).id;
  }

  async listing(): Promise<string> {
    const target = { environment: 'live', store_id: this.first } as const;
    return (await createListing(this.world, this.world.context(), target, { name: 'Teas' })).value.id;
  }
}

const condition = async (call: Promise<unknown>): Promise<string> => (await errorOf(() => call)).condition;

test('the store of a write must be active, with at most a second of delay', async () => {
  const api = await WriteApi.open();
  const { world, first } = api;
  const id = await api.created();
  await changeStoreStatus(world, world.context(), { environment: 'live', id: first }, 'suspended');
  world.now_ms += 1_000;
  expect(await condition(api.created())).toBe('store_not_found');
  const title = { body: { title: 'X' }, id };
  expect(await condition(api.send('PATCH', '/api/publication/:id', title))).toBe('store_not_found');
  expect(await condition(api.send('DELETE', '/api/publication/:id', { id }))).toBe('store_not_found');
});

describe('the response to a write', () => {
  test('waits at most a second until its event is projected in its partition', async () => {
    const api = await WriteApi.open();
    const answer = await api.send('POST', '/api/listing', { body: { name: 'Teas' } });
    const { id } = answer.data as { id: string };
    expect(answer).toMatchObject({
      status: 201,
      version: 1,
      data: { object: 'listing', name: 'Teas', stats: { media_count: 0, publication_count: 0 } },
      headers: { Location: `/api/listing/${id}`, 'X-Catalog-Position': '4' },
    });
    expect(api.waits).toEqual([
      { partition: partitionOf(api.first, PARTITIONS), position: 4n, timeout_ms: 1_000 },
    ]);
  });

  test('that changed nothing has, and waits for, the last position of the resource', async () => {
    const api = await WriteApi.open();
    const id = await api.created();
    await api.created();
    const same = await api.send('PATCH', '/api/publication/:id', { id, body: tea });
    expect(same).toMatchObject({ version: 1, headers: { 'X-Catalog-Position': '4' } });
    expect(api.waits.at(-1)?.position).toBe(4n);
  });

  test('does not wait with Prefer: respond-async', async () => {
    const api = await WriteApi.open();
    const prefer = { prefer: 'handling=strict, respond-async; wait=10' };
    const { headers } = await api.send('POST', '/api/publication', { body: tea, headers: prefer });
    expect(headers).toMatchObject({ 'X-Catalog-Position': '4', 'Preference-Applied': 'respond-async' });
    expect(api.waits).toEqual([]);
  });

  test.each([
    ['the projection is late', { waitFor: async () => false }],
    ['the view store fails', new Error('connection lost')],
    ['nothing was ever projected', undefined],
  ])('is a success even if %s', async (_case, view) => {
    const api = await WriteApi.open();
    api.view = view;
    const answer = await api.send('POST', '/api/publication', { body: tea });
    expect(answer).toMatchObject({ status: 201, headers: { 'X-Catalog-Position': '4' } });
    expect(answer.headers).not.toHaveProperty('Preference-Applied');
  });

  test.each([
    ['the view store fails', new Error('connection lost')],
    ['there are no documents', undefined],
  ])('to a DELETE of a listing has no count if %s, and if_empty is then refused', async (_case, view) => {
    const api = await WriteApi.open();
    const id = await api.listing();
    api.view = view;
    const remove = (query = {}) => api.send('DELETE', '/api/listing/:id', { id, query });
    expect(await condition(remove({ if_empty: ['true'] }))).toBe('unavailable');
    expect((await remove()).data).toEqual({ id, object: 'listing', deleted: true });
  });
});
