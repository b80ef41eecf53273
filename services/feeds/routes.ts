import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { reads } from '../../shared/api/operations/reads';
import { service } from '../../shared/api/operations/service';
import { type FeedQuery, feedSchema } from '../../shared/api/requests/reads';
import type { Presentable } from '../../shared/catalog/json-text';
import type { Environment } from '../../shared/catalog/realm';
import type { StoreDocument } from '../../shared/catalog/store/document';
import type { Limits } from '../../shared/http/rate-limit';
import { type HttpRequest, headerOf, ownAddress } from '../../shared/http/request';
import { encodingOf, etagOf } from '../../shared/http/respond';
import type { Answer, ApiRequest, PublicRoute, Route } from '../../shared/http/route';
import { routeOf } from '../../shared/http/route';
import { StreamSlots } from '../../shared/http/stream-slots';
import { parseQuery, queryParameters } from '../../shared/http/validation';
import { longTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { VERSION } from '../../shared/kernel/version';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import { presentationOf, shown } from '../query/presentation';
import { openStore, requestedStore, requireSecretKey, requireStore, settingsOf } from '../query/read';
import type { Edition } from './addresses';
import type { CatalogState } from './catalog-state';
import { CHANNELS, type Channel, type ChannelName } from './channels';
import { parsePlace, placeText, readIssues } from './issues';
import { productsOf, type Shop } from './products';

/** The store that the shop of a host shows. */
export interface ShownStore {
  readonly environment: Environment;
  readonly store_id: StoreId;
}

interface FeedOptions {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly now: () => number;
}

export interface PublicFeedOptions extends FeedOptions {
  /** Returns undefined if the host has no shop. */
  readonly findStore: (host: string | undefined) => Promise<ShownStore | undefined>;
  readonly limits: Limits;
  readonly catalog_state: CatalogState;
}

/** A shop whose documents are read now. */
export interface OpenedShop {
  readonly shop: Shop;
  /** The locale of the texts, if the store has several. */
  readonly language: string | undefined;
  /** What distinguishes the answers in different languages and currencies. */
  readonly variety: string;
  readonly version: DocumentReader;
}

/**
 * Opens the shop of the host of a request. Throws `path_not_found` if it has none, `rate_limited`, and `invalid_query` for a
 * currency that the store does not have.
 */
export async function openShop(
  options: PublicFeedOptions,
  req: HttpRequest,
  query: FeedQuery = {},
): Promise<OpenedShop> {
  const { allowed, retry_after_s } = await options.limits.takeRead(req);
  if (!allowed) throw new CatalogError('rate_limited', { retry_after_s });
  const header = (name: string) => headerOf(req, name);
  const found = await options.findStore(header('host'));
  if (!found) throw new CatalogError('path_not_found');
  const { store_id } = found;
  const view = options.views[found.environment];
  const version = await view.current();
  if (!version) throw new CatalogError('unavailable');
  const store = await requireStore(version, store_id);
  const source = { view, store_id, base_url: ownAddress(header), now: options.now() };
  return { version, ...shopOf(store, source, query) };
}

/** Returns the shop with the texts and prices that a feed asks for. */
function shopOf(
  store: StoreDocument,
  source: Pick<Shop, 'view' | 'store_id' | 'base_url' | 'now'>,
  { locale: asked, currency }: FeedQuery,
): Pick<OpenedShop, 'shop' | 'language' | 'variety'> {
  const settings = settingsOf(store);
  const { locales = [], currencies = [] } = settings;
  if (currency !== undefined && !currencies.includes(currency)) {
    const constraint = `a currency of the store${currencies.length > 0 ? `: ${currencies.join(', ')}` : ', which has none'}`;
    throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'currency', constraint }]);
  }
  const query = { ...(asked && { locale: [asked] }), ...(currency && { currency: [currency] }) };
  const as = presentationOf(settings, { query, header: () => undefined, principal: { key_type: 'public' } });
  const has_languages = locales.length > 1;
  const edition: Edition = {
    locale: asked && has_languages ? as.locale : undefined,
    currency: currency === currencies[0] ? undefined : currency,
    has_languages,
  };
  const is_as_stored = !as.locales && currency === undefined;
  const show: Shop['show'] = is_as_stored
    ? undefined
    : (resource) => shown(resource as Presentable, as) as typeof resource;
  const { name } = show ? show(store.body) : store.body;
  const shop = { ...source, name: String(name), locales, edition, ...(show && { show }) };
  return { shop, language: has_languages ? as.locale : undefined, variety: JSON.stringify([as, edition]) };
}

/** How many feeds a process makes at the same time. Each has up to 2 MB of publications in memory. */
export const feedSlots = () => new StreamSlots({ what: 'feeds', per_key: 6, in_all: 6 });

/** Returns the route of the feeds of a shop (docs/feeds.md). */
export function feedRoute(options: PublicFeedOptions): PublicRoute {
  const channels = new Map<string, Channel>(Object.values(CHANNELS).map((each) => [each.file, each]));
  return {
    path: service.getFeed.path,
    slots: feedSlots(),
    serve: async (req, { feed = '' }) => {
      const channel = channels.get(feed);
      if (!channel) throw new CatalogError('path_not_found');
      const query = parseQuery(feedSchema, queryParameters(req.url ?? ''));
      const opened = await openShop(options, req, query);
      return streamAnswer(options, req, opened, channel.content_type, feedLines(opened.shop, channel));
    },
  };
}

async function* feedLines(shop: Shop, channel: Channel): AsyncGenerator<string> {
  yield channel.begin(shop);
  for await (const { product } of productsOf(shop)) if (product) yield channel.write(product);
  yield channel.end;
}

/** Returns an answer with lines, compressed as the reader accepts it. Its ETag changes with the catalog of the store. */
export async function streamAnswer(
  { catalog_state }: PublicFeedOptions,
  req: HttpRequest,
  { shop: { store_id, base_url, name }, version, language, variety }: OpenedShop,
  content_type: string,
  lines: AsyncIterable<string>,
): Promise<Answer> {
  const digest = await catalog_state.digest(version, store_id);
  const state = JSON.stringify([VERSION, base_url, store_id, name, variety, version.version, digest]);
  const etag = digest === undefined ? undefined : etagOf(undefined, state);
  const encoding = encodingOf(req.headers['accept-encoding']);
  const headers = {
    'Content-Type': content_type,
    'Cache-Control': 'no-cache',
    ...(language && { 'Content-Language': language }),
    ...(encoding && { 'Content-Encoding': encoding }),
    ...(etag && { ETag: etag }),
  };
  return { data: null, reply: { status: 200, headers, body: bytesOf(lines, encoding) } };
}

/** Compression of a stream: one third of the CPU of the default of Brotli, for a tenth more bytes. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Nothing is read before the first piece is asked for. */
async function* bytesOf(
  lines: AsyncIterable<string>,
  encoding: ReturnType<typeof encodingOf>,
): AsyncGenerator<Uint8Array> {
  const plain = Readable.from(withTurns(lines), { objectMode: false });
  if (!encoding) return yield* plain;
  const compressor = encoding === 'br' ? createBrotliCompress(BROTLI) : createGzip();
  // An error of the lines destroys the compressor, whose reader then gets it.
  pipeline(plain, compressor, () => {});
  yield* compressor;
}

/** Yields the lines in larger pieces, and lets other requests run in between. */
async function* withTurns(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = '';
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE_LENGTH) continue;
    const turn = longTurn();
    if (turn) await turn;
    yield piece;
    piece = '';
  }
  yield piece;
}

const PIECE_LENGTH = 16_384;

/** Returns the route of what a channel would refuse. */
export function feedIssuesRoute(options: FeedOptions): Route {
  const { views, now } = options;
  const deps = { live: { view: views.live }, test: { view: views.test } };
  return routeOf(reads.listFeedIssues, async (request: ApiRequest) => {
    requireSecretKey(request, 'A report about a feed');
    const { limit, cursor, severity, ...query } = parseQuery(reads.listFeedIssues.query, request.query);
    const channel = request.params.channel as ChannelName;
    if (!Object.hasOwn(CHANNELS, channel)) throw new CatalogError('path_not_found');
    const store_id = requestedStore(request);
    const version = await openStore(deps, request, store_id);
    const store = await requireStore(version, store_id);
    const { view } = deps[request.principal.environment];
    const source = { view, store_id, base_url: ownAddress(request.header), now: now() };
    const { shop } = shopOf(store, source, query);
    const after = cursor === undefined ? undefined : parsePlace(cursor);
    const { issues, next } = await readIssues(shop, CHANNELS[channel], { after, limit, severity });
    const meta = { limit, ...(next && { next_cursor: placeText(next) }) };
    return { data: issues as unknown as Answer['data'], meta };
  });
}
