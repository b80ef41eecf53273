import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import type { ControlDeps, WriteContext } from '../../services/command/execute';
import { createStore } from '../../services/command/store';
import type { TIMES } from '../../services/webhooks/sender';
import type { Environment } from '../../shared/catalog/realm';
import type { KeyType, Permission } from '../../shared/catalog/vocabulary';
import { CatalogClient, type ClientOptions } from '../../shared/client';
import { parseConfig } from '../../shared/kernel/config';
import type { AccountId, StoreId } from '../../shared/kernel/ids';
import { realSystem, type System } from '../../shared/kernel/system';
import { fetchDocumented } from './fetch-documented';
import { LateWrites } from './late-writes';
import { type OwnNames, ownNames, serversOfEnvironment } from './own-servers';
import { makeTempDir } from './temp-dir';
import { WAIT_MS_MAX, within } from './wait-for';

/** The service in this process, on a free port. It has its own data folder, or its own names on the given servers. */
export interface Harness {
  readonly url: string;
  readonly service: Service;
  readonly data_dir: string;
  /** The settings that differ from the defaults. A second process needs the same ones. */
  readonly settings: Readonly<Record<string, string>>;
  readonly account_id: AccountId;
  /** Dependencies of the command services, for calls that an operator makes. */
  readonly deps: ControlDeps;
  /** Creates a store of the harness's account and waits until it is projected. */
  newStore(environment?: Environment, name?: string): Promise<StoreId>;
  newKey(type: KeyType, stores: readonly StoreId[], permissions?: readonly Permission[]): Promise<TestKey>;
  /** Creates a store and a key of each type for it. */
  newShop(environment?: Environment): Promise<Shop>;
  token(key: string): Promise<string>;
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  /** Returns the public client with a key. Its requests are checked against the OpenAPI document like all others. */
  client(key: TestKey, options?: Partial<ClientOptions>): CatalogClient;
  /** Waits until the projections of every realm have caught up. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface TestKey {
  readonly id: string;
  readonly key: string;
  readonly token: string;
}

export interface Shop {
  readonly store_id: StoreId;
  readonly public: TestKey;
  readonly secret: TestKey;
}

export interface RequestOptions {
  readonly token?: string;
  /** Sent as JSON, except strings, forms and blobs, which are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as bytes. */
  readonly bytes: Buffer;
  /** The parsed body, `{}` if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
  readonly body: any;
}

export interface HarnessOptions {
  /** Settings that replace defaults, such as `{ RATE_LIMIT_PUBLIC: '5/100/5' }`. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly system?: System;
  /** Default: the servers that the environment names. */
  readonly servers?: OwnNames;
  /**
   * Whether requests wait for writes to be projected if the service did not. Default: true. False for tests that make servers
   * unreachable, because nothing is projected then.
   */
  readonly waits_for_late?: boolean;
  /** Default: those of Standard Webhooks. */
  readonly webhook_times?: Partial<typeof TIMES>;
  /** Whether no other test file may use the service: a test that looks at all of it, stops it or breaks it. Default: false. */
  readonly is_own?: boolean;
}

type Fetch = typeof fetch;

/** Rate limits are high, so that a test reaches one only if it sets its own. */
const SETTINGS = {
  PORT: '0',
  DEMO: 'off',
  LOG_LEVEL: 'silent',
  // In the middle of a test, a flush would change documents and end stored answers.
  VIEW_FLUSH_INTERVAL_S: '86400',
  RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '100000/100000',
};

const CONTEXT: WriteContext = { source: 'cli', request_id: 'harness' };

/** A started service, which one or several harnesses use. */
interface Started {
  readonly service: Service;
  readonly data_dir: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly late: LateWrites;
  close(): Promise<void>;
}

/** The services that the test files of this process share, by their settings. Undefined: each harness starts its own. */
let shared: Map<string, Promise<Started>> | undefined;

/** Lets the harnesses of the test files that run together use one service for equal settings. Stops the services at the end. */
export function shareServices(): void {
  const services = new Map<string, Promise<Started>>();
  shared = services;
  afterAll(async () => {
    for (const service of services.values()) await (await service).close();
  });
}

/** Returns a service that is shared, or starts one. */
async function serviceFor(options: HarnessOptions): Promise<Started> {
  const { environment = {}, is_own, ...others } = options;
  if (!shared || is_own || Object.keys(others).length > 0) return startService(options);
  const key = JSON.stringify(environment);
  const services = shared;
  const service = services.get(key) ?? startService(options);
  services.set(key, service);
  // A service that did not start is not there to be stopped.
  service.catch(() => services.delete(key));
  return { ...(await service), close: async () => {} };
}

async function startService(options: HarnessOptions): Promise<Started> {
  const folder = makeTempDir();
  const servers = options.servers ?? ownNames(serversOfEnvironment());
  const settings = { ...SETTINGS, DATA_DIR: folder.path, ...servers.settings, ...options.environment };
  const late = new LateWrites();
  const service = await within(
    startAllInOne(parseConfig(settings), pino({ level: 'warn' }, late), options.system ?? realSystem, {
      webhook_times: options.webhook_times,
    }),
    'the service to start',
  );
  // A start on servers returns before the projections have caught up.
  if (!(await service.pipelines.caughtUp(WAIT_MS_MAX))) {
    await service.close();
    throw new Error('the service did not start');
  }
  const close = async (): Promise<void> => {
    await within(service.close(), 'the service to stop');
    await servers.dispose();
    folder.remove();
  };
  return { service, data_dir: folder.path, settings, late, close };
}

/** Number of writes that harnesses of this process have made. Each is a separate request. */
let requests = 0;
const context = (): WriteContext => ({ ...CONTEXT, request_id: `harness-${++requests}` });

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { service, data_dir, settings, late, close } = await serviceFor(options);
  const system = options.system ?? realSystem;
  const deps: ControlDeps = { system, events: service.runtime.events };
  const account_id = (await createAccount(deps, context(), { name: 'Test account' })).value.id;

  const settled = async (): Promise<void> => {
    if (!(await service.pipelines.caughtUp(WAIT_MS_MAX))) throw new Error('the documents did not catch up');
  };
  const fetchSettled =
    options.waits_for_late === false ? fetchDocumented : late.settling(() => service, fetchDocumented);
  const send: Harness['request'] = (method, path, sent = {}) =>
    request(fetchSettled, `${service.url}${path}`, method, sent);
  const client: Harness['client'] = ({ key }, more = {}) =>
    new CatalogClient({ baseUrl: service.url, apiKey: key, fetch: fetchSettled, ...more });
  const token: Harness['token'] = async (key) => {
    const reply = await send('POST', '/auth/token', { headers: { 'x-api-key': key } });
    if (reply.status !== 200) throw new Error(`no token: ${reply.status} ${reply.text}`);
    return reply.body.data.token;
  };
  const makeStore = async (environment: Environment, name: string): Promise<StoreId> =>
    (await createStore(deps, context(), { account_id }, { name, environment })).value.id;
  const makeKey = (type: KeyType, stores: readonly StoreId[], permissions?: readonly Permission[]) => {
    const grants = { account_id, name: type, type, stores: [...stores] };
    const requested = permissions === undefined ? grants : { ...grants, permissions: [...permissions] };
    return createApiKey(deps, context(), requested);
  };
  const newStore: Harness['newStore'] = async (environment = 'live', name = 'Shop') => {
    const store_id = await makeStore(environment, name);
    await settled();
    return store_id;
  };
  const newKey: Harness['newKey'] = async (...args) => {
    const { id, key } = await makeKey(...args);
    await settled();
    return { id, key, token: await token(key) };
  };
  // One wait for all three: each takes a tick of the dispatcher.
  const newShop: Harness['newShop'] = async (environment = 'live') => {
    const store_id = await makeStore(environment, 'Shop');
    const keys = [await makeKey('public', [store_id]), await makeKey('secret', [store_id])];
    await settled();
    const [visitor, merchant] = await Promise.all(
      keys.map(async ({ id, key }) => ({ id, key, token: await token(key) })),
    );
    return { store_id, public: visitor!, secret: merchant! };
  };
  return {
    ...{ url: service.url, service, deps, data_dir, settings, account_id, settled, token },
    ...{ request: send, client, newStore, newKey, newShop, close },
  };
}

async function request(fetch: Fetch, url: string, method: string, sent: RequestOptions): Promise<Reply> {
  const headers = new Headers(sent.headers);
  if (sent.token !== undefined) headers.set('authorization', `Bearer ${sent.token}`);
  // A form and a blob set their own content type.
  const is_typed = sent.body instanceof FormData || sent.body instanceof Blob;
  const is_sent_unchanged = is_typed || typeof sent.body === 'string' || sent.body === undefined;
  const body = is_sent_unchanged ? sent.body : JSON.stringify(sent.body);
  if (body !== undefined && !is_typed && !headers.has('content-type'))
    headers.set('content-type', 'application/json');
  const reply = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as string | FormData | Blob }),
  });
  const bytes = Buffer.from(await reply.arrayBuffer());
  const text = bytes.toString();
  return { status: reply.status, headers: reply.headers, text, bytes, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
