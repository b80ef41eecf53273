import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Maintain } from '../../projections/maintenance/tasks';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';
import { errorCatalogue } from '../../shared/api/error-catalogue';
import { reads } from '../../shared/api/operations/reads';
import { buildApp, buildHealthApp } from '../../shared/http/app';
import { Authenticator, type ControlChanges } from '../../shared/http/auth';
import { Limits } from '../../shared/http/rate-limit';
import type { Route } from '../../shared/http/route';
import type { Sessions } from '../../shared/http/sessions';
import { loadTokenKeys } from '../../shared/http/token-keys';
import { TokenCodec } from '../../shared/http/tokens';
import { CatalogError } from '../../shared/kernel/errors';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { consoleSessionRoutes } from '../auth/console-session';
import { ControlLog } from '../auth/control-log';
import { authEndpoints, KeyTokens, principalOfKey } from '../auth/endpoints';
import { recordApiKeyUse } from '../command/api-key';
import { PageViewLog } from '../command/page-views';
import { withProposals } from '../command/proposals';
import { commandRoutes } from '../command/routes';
import { docsRoutes } from '../docs/routes';
import { startRoute } from '../docs/start-page';
import { EdgeCache } from '../edge/edge-cache';
import { Validity } from '../edge/validity';
import { CatalogState } from '../feeds/catalog-state';
import { discoveryRoutes } from '../feeds/discovery';
import { feedIssuesRoute, feedRoute, type PublicFeedOptions, type ShownStore } from '../feeds/routes';
import { ImportJobs } from '../import/jobs';
import { importRoutes } from '../import/routes';
import { mcpRoute } from '../mcp/routes';
import { pictureRoute } from '../media/public-files';
import { freshnessHeaders } from '../metrics/freshness';
import { operatorRoutes } from '../operator/routes';
import { PageViewCounter, type RecordPageView } from '../query/page-view-counter';
import { queryRoutes } from '../query/routes';
import { ucpRoutes } from '../ucp/routes';
import { consoleFiles } from '../web/console-files';
import { shopRoutes } from '../web/shop/routes';
import type { ConnectShop } from '../web/shops';
import { type Listening, listen } from './listen';
import type { Pipelines } from './pipelines';
import { type Operations, PROJECTIONS, readiness, startOperations } from './readiness';
import type { Runtime } from './runtime';

/** What the apps of a process share: the endpoints of tokens, the imports, and the options of `buildApp`. */
export type SharedParts = Awaited<ReturnType<typeof buildSharedParts>>;

export async function buildSharedParts(runtime: Runtime, changes: ControlChanges, operations: Operations) {
  const { config, log, system, limiter, metrics, tracing } = runtime;
  const tokens = new TokenCodec({
    ring: await loadTokenKeys(config),
    issuer: config.JWT_ISSUER,
    system,
    onUnknownKey: unknownKeyLogger(runtime),
  });
  const authenticator = new Authenticator({
    tokens,
    control_view: runtime.views.control,
    changes,
    system,
    onCache: metrics.onCache,
  });
  const auth_options = { authenticator, tokens, system, onKeyUsed: keyUseRecorder(runtime) };
  return {
    auth_options,
    /** Aborted when the process stops. */
    stopping: new AbortController(),
    imports: new ImportJobs(runtime, join(config.DATA_DIR, 'imports')),
    options: {
      config,
      log,
      system,
      limiter,
      fallback_limiter: new MemoryRateLimiter({ now: system.now }),
      authenticator,
      metrics,
      ...operations,
      ...(tracing && { trace: tracing.traceRequest }),
    },
  };
}

/** Shortest time between two log lines about tokens of unknown keys. */
const UNKNOWN_KEY_EVERY_MS = 600_000;

/**
 * Returns a function that logs a token of an unknown key, at most once per `UNKNOWN_KEY_EVERY_MS`. Anybody can send such
 * a token, so without the limit anybody could fill the log.
 */
function unknownKeyLogger({ log }: Runtime): (kid: string) => void {
  let logged_at_ms = Number.NEGATIVE_INFINITY;
  return (kid) => {
    const now_ms = performance.now();
    if (now_ms - logged_at_ms < UNKNOWN_KEY_EVERY_MS) return;
    logged_at_ms = now_ms;
    log.warn(
      { kid },
      'refused a token of a key that this process does not have. All processes need the same token keys: set ' +
        'JWT_KEYS_FILE or JWT_SECRET, or share jwt-keys.json in DATA_DIR',
    );
  };
}

/** Starts to follow the changes of accounts and API keys. Stop the `ControlLog` before you close the runtime. */
export function startControlLog({ events, views, log }: Runtime): ControlLog {
  return new ControlLog({ events: events.control, control_view: views.control, log });
}

/**
 * Builds the app for writes and tokens: `services/command` and `services/auth`. `apiUrl` returns the address of the whole
 * service; without it, there is no `/mcp`.
 */
export function buildCommandApp(
  runtime: Runtime,
  { auth_options, imports, options }: SharedParts,
  apiUrl?: () => string | undefined,
): RequestListener {
  const { config, system, events, views, log, blobs, mediaTasks, metrics } = runtime;
  const deps = {
    ...{ config, system, events, views, log, blobs, mediaTasks },
    onCache: metrics.onCache,
  };
  const { writes, proposedImport } = importRoutes(runtime, imports);
  const confirmed = (route: Route): Route => ({ ...route, handler: confirmNotFound(route.handler, runtime) });
  // A proposed write calls the inner handlers.
  const routes = [...commandRoutes(deps), ...writes].map(confirmed);
  const { authenticator } = auth_options;
  const key_tokens = new KeyTokens(auth_options);
  const mcp =
    apiUrl &&
    mcpRoute({
      ...{ apiUrl, system, log, limits: new Limits(options) },
      authenticate: (token) => authenticator.authenticate(token),
      tokenOf: (api_key) => key_tokens.of(api_key),
    });
  return buildApp({
    ...options,
    auth: authEndpoints(auth_options),
    idempotency_store: runtime.idempotency,
    routes: withProposals(deps, routes, proposedImport).map(confirmed),
    public_routes: [...docsRoutes(), startRoute(), ...(mcp ? [mcp] : [])],
  });
}

function keyUseRecorder({ system, events }: Runtime) {
  return async (id: ApiKeyId): Promise<void> => {
    const request_id = `key-use-${system.now()}`;
    await recordApiKeyUse({ system, events }, { source: 'system', request_id }, id);
  };
}

/** Wraps the handler of a write: a look-up in another log than the right one is not answered with 404. */
function confirmNotFound(handler: Route['handler'], { log_matches }: Runtime): Route['handler'] {
  return async (request) => {
    try {
      return await handler(request);
    } catch (error) {
      if (error instanceof CatalogError && errorCatalogue[error.condition].status === 404)
        await log_matches[request.principal.environment].confirmAfterwards();
      throw error;
    }
  };
}

/** What the pages of a query app need beside its stores. Without it, there are none. */
export interface WebOptions {
  readonly connectShop: ConnectShop;
  /** Whether there is a console for merchants. */
  readonly has_console: boolean;
  readonly sessions: Sessions;
  /** Without it, there are no pages for operators. */
  readonly operator_token: string | undefined;
  readonly maintain: Maintain;
}

/**
 * Builds the app for reads: `services/query` with the edge cache, and the pages of `web`. Calls `recordPageView` for every
 * view of a publication.
 */
export function buildQueryApp(
  runtime: Runtime,
  { auth_options, imports, options, stopping }: SharedParts,
  recordPageView: RecordPageView,
  web?: WebOptions,
): RequestListener {
  const { views, events, system, metrics, blobs } = runtime;
  const pictures = { live: blobs.live.pictures, test: blobs.test.pictures };
  const routes = queryRoutes({
    ...{ views, events, system, pictures, recordPageView },
    onCache: metrics.onCache,
    stopping: stopping.signal,
  });
  const limits = new Limits(options);
  const bytes_max = runtime.config.EDGE_CACHE_MB * 1_000_000;
  // A trace shows the reads of a request, so a process with traces has no cache.
  const is_cached = bytes_max > 0 && !runtime.tracing;
  const cache =
    is_cached &&
    new EdgeCache({ recordPageView, onCache: metrics.onCache, bytes_max, validity: new Validity(views) });
  const freshness = freshnessHeaders(runtime);
  // Keys are documents of another realm, whose changes the cache does not count. Proposals expire without a change.
  const uncached: readonly string[] = [reads.listKeys, reads.listProposals, reads.getProposal].map(
    ({ path }) => path,
  );
  const isCacheable = ({ path }: Route): boolean => !uncached.includes(path);
  const cached = routes.map((route) => (cache && isCacheable(route) ? cache.inFrontOf(route) : route));
  const feeds = { views, now: system.now };
  const pages = web
    ? [
        ...shopRoutes(web.connectShop, startRoute()),
        ...ucpRoutes({
          ...{ routes, connectShop: web.connectShop, limits, now: system.now },
          inFrontOf: (route, render) => (cache ? cache.inFrontOf(route, render) : route),
          principalOf: (public_key) => principalOfKey(auth_options, public_key),
          rule: { allow_private: runtime.config.WEBHOOKS === 'private' },
        }),
        ...publicFeeds({
          ...{ ...feeds, limits, catalog_state: new CatalogState() },
          findStore: (host) => shownStore(auth_options, web, host),
        }),
        ...(web.has_console || web.operator_token !== undefined ? consoleFiles() : []),
        ...(web.has_console ? consoleSessionRoutes({ ...auth_options, sessions: web.sessions, limits }) : []),
        ...operatorRoutes({ ...runtime, ...web, ready: options.ready, limits }, web.operator_token),
      ]
    : [startRoute()];
  const public_routes = [...docsRoutes(), ...pages, pictureRoute(pictures)];
  // The edge cache answers from documents, which imports are not, and reports are read by few.
  const served = [...cached, ...importRoutes(runtime, imports).reads, feedIssuesRoute(feeds)];
  return buildApp({ ...options, routes: served, public_routes, freshness });
}

const publicFeeds = (options: PublicFeedOptions) => [feedRoute(options), ...discoveryRoutes(options)];

/** Returns the store of the shop's key. Undefined if there is no shop. Throws if the key or its account cannot be used. */
async function shownStore(
  auth_options: SharedParts['auth_options'],
  { connectShop }: WebOptions,
  host: string | undefined,
): Promise<ShownStore | undefined> {
  const connection = await connectShop(host);
  if (!connection) return undefined;
  const { environment, stores } = await principalOfKey(auth_options, connection.public_key);
  return { environment, store_id: stores[0]! };
}

/** Serves `/health/*` and `/metrics` of a process without an API, on WORKER_PORT. Throws if the port cannot be opened. */
export async function startHealthServer(runtime: Runtime, pipelines: Pipelines): Promise<Listening> {
  const { config, log, system, metrics } = runtime;
  const operations = startOperations(runtime, readiness(runtime, { ...PROJECTIONS, pipelines }));
  const app = buildHealthApp({ config, log, system, metrics, ...operations });
  return listen(app, config.HOST, config.WORKER_PORT);
}

/**
 * How long a shutdown waits until the last page views are appended. Only an outage takes that long, because page views
 * are few events. Shorter than `STOP_TIMEOUT_MS` (`process.ts`), after which the process exits anyway.
 */
export const PAGE_VIEWS_TIMEOUT_MS = 10_000;

/** Starts the counter that appends this process's page views to the log. Stop it before you close the runtime. */
export function startPageViewCounter(runtime: Runtime): PageViewCounter {
  const { config, system, log, metrics } = runtime;
  const page_view_log = new PageViewLog(runtime);
  const interval_ms = config.VIEW_FLUSH_INTERVAL_S * 1000;
  const counter = new PageViewCounter({
    append: (batch) => page_view_log.append(batch),
    interval_ms,
    system,
    log,
    onDropped: () => metrics.pageViewDropped(),
  });
  metrics.setPageViewCount(() => counter.unsaved);
  counter.start();
  return counter;
}
