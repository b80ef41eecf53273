import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import type { ControlDeps, WriteContext } from '../../services/command/execute';
import { createStore } from '../../services/command/store';
import type { Environment } from '../../shared/catalog/realm';
import type { KeyType, Permission } from '../../shared/catalog/vocabulary';
import { CatalogClient, type ClientOptions } from '../../shared/client';
import { parseConfig } from '../../shared/kernel/config';
import type { AccountId, StoreId } from '../../shared/kernel/ids';
import { realSystem, type System } from '../../shared/kernel/system';
import { fetchDocumented } from './fetch-documented';
import { type OwnNames, ownNames, serversOfEnvironment } from './own-servers';
import { makeTempDir } from './temp-dir';

/** The whole service in this process, on port 0 and a folder of its own, or names of its own on the given servers. */
export interface Harness {
  readonly url: string;
  readonly service: Service;
  readonly data_dir: string;
  /** What was set besides the defaults: for more processes beside this one. */
  readonly settings: Readonly<Record<string, string>>;
  readonly account_id: AccountId;
  /** For the command services, as an operator would call them. */
  readonly deps: ControlDeps;
  /** A store of the harness' account, ready to be read. */
  newStore(environment?: Environment, name?: string): Promise<StoreId>;
  newKey(type: KeyType, stores: readonly StoreId[], permissions?: readonly Permission[]): Promise<TestKey>;
  /** A store with a token of each type for it. */
  newShop(environment?: Environment): Promise<Shop>;
  token(key: string): Promise<string>;
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  /** The client as it ships, with a key; its answers are held against the document like all others. */
  client(key: TestKey, options?: Partial<ClientOptions>): CatalogClient;
  /** Until the documents of every realm are level with the logs. */
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
  /** Sent as JSON; a string, a form or a blob is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The same before it was taken for text. */
  readonly bytes: Buffer;
  /** The parsed body; `{}` where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
  readonly body: any;
}

export interface HarnessOptions {
  /** Settings over the defaults, such as `{ RATE_LIMIT_PUBLIC: '5/100/5' }`. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly system?: System;
  /** Default: those that the process' environment names. */
  readonly servers?: OwnNames;
  /**
   * Whether a request whose write was not projected in time waits until it is. Default: true; false where servers are
   * taken away, and nothing is projected until they are back.
   */
  readonly waits_for_late?: boolean;
}

type Fetch = typeof fetch;

/** Rate limits are out of the way unless a test sets its own. */
const SETTINGS = {
  PORT: '0',
  DEMO: 'off',
  LOG_LEVEL: 'silent',
  RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '100000/100000',
};

/** Reached only where something is broken. */
const LIMIT_MS = 120_000;
const CONTEXT: WriteContext = { source: 'cli', request_id: 'harness' };

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const folder = makeTempDir();
  const servers = options.servers ?? ownNames(serversOfEnvironment());
  const settings = { ...SETTINGS, DATA_DIR: folder.path, ...servers.settings, ...options.environment };
  const config = parseConfig(settings);
  const system = options.system ?? realSystem;
  const late = new LateWrites();
  const service = await startAllInOne(config, pino({ level: 'warn' }, late), system);
  // A start on servers does not wait for them.
  if (!(await service.pipelines.caughtUp(LIMIT_MS))) {
    await service.close();
    throw new Error('the service did not start');
  }
  const deps: ControlDeps = { system, events: service.runtime.events };
  // Each write of the harness is a request of its own.
  let requests = 0;
  const context = (): WriteContext => ({ ...CONTEXT, request_id: `harness-${++requests}` });
  const account_id = (await createAccount(deps, context(), { name: 'Test account' })).value.id;

  const settled = async (): Promise<void> => {
    if (!(await service.pipelines.caughtUp(LIMIT_MS))) throw new Error('the documents did not catch up');
  };
  const fetchSettled: Fetch = async (...sent) => {
    const before = late.count;
    const response = await fetchDocumented(...sent);
    if (late.count > before && options.waits_for_late !== false) await settled();
    return response;
  };
  const send: Harness['request'] = (method, path, sent = {}) =>
    request(fetchSettled, `${service.url}${path}`, method, sent);
  const client: Harness['client'] = ({ key }, more = {}) =>
    new CatalogClient({ baseUrl: service.url, apiKey: key, fetch: fetchSettled, ...more });
  const token: Harness['token'] = async (key) => {
    const reply = await send('POST', '/auth/token', { headers: { 'x-api-key': key } });
    if (reply.status !== 200) throw new Error(`no token: ${reply.status} ${reply.text}`);
    return reply.body.data.token;
  };
  const newStore: Harness['newStore'] = async (environment = 'live', name = 'Shop') => {
    const store = await createStore(deps, context(), { account_id }, { name, environment });
    await settled();
    return store.value.id;
  };
  const newKey: Harness['newKey'] = async (type, stores, permissions) => {
    const grants = { account_id, name: type, type, stores: [...stores] };
    const asked = permissions === undefined ? grants : { ...grants, permissions: [...permissions] };
    const { id, key } = await createApiKey(deps, context(), asked);
    await settled();
    return { id, key, token: await token(key) };
  };
  const newShop: Harness['newShop'] = async (environment = 'live') => {
    const store_id = await newStore(environment);
    return {
      store_id,
      public: await newKey('public', [store_id]),
      secret: await newKey('secret', [store_id]),
    };
  };
  const close = async (): Promise<void> => {
    await service.close();
    await servers.dispose();
    folder.remove();
  };
  const data_dir = folder.path;
  return {
    ...{ url: service.url, service, deps, data_dir, settings, account_id, settled, token },
    ...{ request: send, client, newStore, newKey, newShop, close },
  };
}

/**
 * Where the service's log goes. A write's answer waits for its projection for a second at most, and says so in the log
 * where that was too short: on a busy machine what is read next could be from before the write.
 */
class LateWrites {
  count = 0;

  write(line: string): void {
    if (line.includes('"msg":"write not projected yet"')) this.count += 1;
  }
}

async function request(fetch: Fetch, url: string, method: string, sent: RequestOptions): Promise<Reply> {
  const headers = new Headers(sent.headers);
  if (sent.token !== undefined) headers.set('authorization', `Bearer ${sent.token}`);
  // A form and a blob bring their own type.
  const is_typed = sent.body instanceof FormData || sent.body instanceof Blob;
  const is_sent_as_it_is = is_typed || typeof sent.body === 'string' || sent.body === undefined;
  const body = is_sent_as_it_is ? sent.body : JSON.stringify(sent.body);
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
