import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Maintain } from '../../projections/maintenance/tasks';
import { Sessions } from '../../shared/http/sessions';
import type { Config } from '../../shared/kernel/config';
import { CatalogError } from '../../shared/kernel/errors';
import { localUrl } from '../../shared/kernel/server-url';
import { realSystem } from '../../shared/kernel/system';
import { DemoFiles } from '../demo/files';
import type { PageViewCounter } from '../query/page-view-counter';
import type { ConnectShop } from '../web/shops';
import {
  buildCommandApp,
  buildQueryApp,
  buildSharedParts,
  PAGE_VIEWS_TIMEOUT_MS,
  startControlLog,
  startPageViewCounter,
  type WebOptions,
} from './apps';
import { Commits } from './commits';
import type { HttpCalls, MainCalls } from './http-processes';
import { listen } from './listen';
import { isEmbedded } from './open-adapters';
import { type ChildOptions, serveParent } from './process';
import { type Operations, readiness, WRITES } from './readiness';
import { openRuntime, type Runtime } from './runtime';

export interface HttpService {
  readonly url: string;
  readonly page_views: PageViewCounter;
  /** Accepts no new requests, finishes the running ones, and appends the counted views. */
  close(): Promise<void>;
}

/** The process serves everything. */
interface AllRole {
  readonly maintain: Maintain;
  /** Whether other processes listen on the same port. */
  readonly reuse_port?: boolean;
}

/**
 * Serves HTTP on one address: only reads (`query`), only writes and tokens (`command`), or with an `AllRole` everything and
 * the pages. Rejects with the error of Node if the port cannot be opened.
 */
export async function startHttpService(
  runtime: Runtime,
  operations: Operations,
  role: 'command' | 'query' | AllRole,
): Promise<HttpService> {
  const { HOST, PORT, DEMO, CONSOLE = DEMO } = runtime.config;
  const page_views = startPageViewCounter(runtime);
  const control_log = startControlLog(runtime);
  const stopBackground = async (): Promise<void> => {
    await control_log.stop();
    await page_views.stop(PAGE_VIEWS_TIMEOUT_MS);
  };
  // The pages and `/mcp` get their tokens and their data from this address.
  let url: string | undefined;
  const web: WebOptions | undefined =
    typeof role === 'object'
      ? {
          ...role,
          connectShop: shopFinder(runtime.config, () => url),
          has_console: CONSOLE === 'on',
          sessions: new Sessions(join(runtime.config.DATA_DIR, 'sessions')),
          operator_token: runtime.config.CONSOLE_OPERATOR_TOKEN,
        }
      : undefined;
  try {
    const shared = await buildSharedParts(runtime, control_log, operations);
    const query = role === 'command' ? undefined : buildQueryApp(runtime, shared, page_views.record, web);
    const { API_URL } = runtime.config;
    const apiUrl = (): string | undefined => API_URL ?? (url && localUrl(url));
    const has_api = API_URL !== undefined || typeof role === 'object';
    const command =
      role === 'query' ? undefined : buildCommandApp(runtime, shared, has_api ? apiUrl : undefined);
    const app = query && command ? routeRequests(query, command) : (query ?? command)!;
    const listening = await listen(app, HOST, PORT, {
      reuse_port: typeof role === 'object' && role.reuse_port,
    });
    url = listening.url;
    const close = async (): Promise<void> => {
      shared.stopping.abort();
      await Promise.all([listening.close(), shared.imports.close()]);
      await stopBackground();
    };
    return { url: listening.url, page_views, close };
  } catch (error) {
    await stopBackground();
    throw error;
  }
}

/**
 * Returns a function that finds the store which a host shows: that of the key in SHOP_KEY, or else that of the demo. A host
 * in SHOP_KEY without a port stands for all ports. `urlOf` returns the address of this service, undefined before it listens.
 */
function shopFinder({ SHOP_KEY, DEMO, DATA_DIR }: Config, urlOf: () => string | undefined): ConnectShop {
  const keys = new Map(Object.entries(SHOP_KEY ?? {}));
  const has_demo = SHOP_KEY === undefined && DEMO === 'on';
  return async (host = '') => {
    const url = urlOf();
    if (url === undefined) return undefined;
    const name = host.toLowerCase();
    const demo = has_demo && !keys.has('*') ? await new DemoFiles(DATA_DIR).readDemo() : undefined;
    // A demo stays the same once it exists.
    if (demo) keys.set('*', demo.public_key);
    const public_key = keys.get(name) ?? keys.get(name.replace(/:\d+$/, '')) ?? keys.get('*');
    return public_key === undefined ? undefined : { base_url: localUrl(url), public_key };
  };
}

/** Routes requests as a gateway would: writes of `/api`, `/auth` and `/mcp` to the command app, all others to the query app. */
function routeRequests(query: RequestListener, command: RequestListener): RequestListener {
  return (request, response) => (isForQuery(request) ? query(request, response) : command(request, response));
}

function isForQuery({ method, url = '' }: IncomingMessage): boolean {
  if (url.startsWith('/auth') || /^\/mcp(\?|$)/.test(url)) return false;
  const is_read = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  // A path does not begin with `/` if a proxy sends it with scheme and host.
  return is_read || (url.startsWith('/') && !url.startsWith('/api'));
}

/** How long a request waits for the main process. The main process waits up to 2 s for the HTTP processes. */
const SERVICE_TIMEOUT_MS = 6_000;

function answered<Result>(answer: Result | undefined): Result {
  if (!answer) throw new CatalogError('unavailable', { message: 'the main process does not answer' });
  return answer;
}

/** The role `http`: serves requests of an all-in-one service with several HTTP processes (`http-processes.ts`). */
export function runHttp(): void {
  serveParent<ChildOptions, MainCalls>(async ({ config }, main, { log, tracing }) => {
    const commits = isEmbedded(config) ? new Commits() : undefined;
    const connection = commits?.connect((commit) => main.tell('committed', commit));
    const runtime = await openRuntime(config, log, realSystem, {
      tracing,
      commits,
      // The main process logs each damaged file once, also if several processes notice it.
      onDamage: ({ file, message }) => main.tell('damaged', { file, message }),
      // The main process renders the pictures. Its media worker adds a lost task again (`services/media/work.ts`).
      ...(config.REDIS_URL === undefined && {
        media_tasks: {
          add: async (task) => main.tell('mediaTask', task),
          work: () => Promise.reject(new Error('an HTTP process does not render')),
          close: async () => {},
        },
      }),
    });
    runtime.metrics.collectProcessMetrics();
    // These describe the whole service, so the main process answers them.
    const operations: Operations = {
      ready: async () =>
        (await main.ask('ready', undefined, SERVICE_TIMEOUT_MS)) ?? {
          ok: false,
          details: { waiting_for: ['main_process'], outages: {} },
        },
      metrics_text: async () => answered(await main.ask('metrics', undefined, SERVICE_TIMEOUT_MS)),
    };
    const maintain: Maintain = async (request) =>
      answered(await main.ask('maintain', request, SERVICE_TIMEOUT_MS));
    const http = await startHttpService(runtime, operations, { maintain, reuse_port: true });
    main.tell('listening', http.url);
    const calls: HttpCalls = {
      ready: readiness(runtime, WRITES),
      metrics: () => runtime.metrics.snapshot(),
      committed: (commit) => connection?.receive(commit),
      stop: async () => {
        await http.close();
        await runtime.close();
      },
    };
    return calls;
  });
}
