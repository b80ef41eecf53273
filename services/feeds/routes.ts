import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { reads } from '../../shared/api/operations/reads';
import { service } from '../../shared/api/operations/service';
import type { Environment } from '../../shared/catalog/realm';
import type { Limits } from '../../shared/http/rate-limit';
import { type HttpRequest, headerOf, ownAddress } from '../../shared/http/request';
import { encodingOf, etagOf } from '../../shared/http/respond';
import type { Answer, ApiRequest, PublicRoute, Route } from '../../shared/http/route';
import { routeOf } from '../../shared/http/route';
import { StreamSlots } from '../../shared/http/stream-slots';
import { parseQuery } from '../../shared/http/validation';
import { longTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { VERSION } from '../../shared/kernel/version';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import { assertActive, openStore, requestedStore, requireSecretKey } from '../query/read';
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
  readonly version: DocumentReader;
}

/** Opens the shop of the host of a request. Throws `path_not_found` if it has none, and `rate_limited`. */
export async function openShop(options: PublicFeedOptions, req: HttpRequest): Promise<OpenedShop> {
  const { allowed, retry_after_s } = await options.limits.takeRead(req);
  if (!allowed) throw new CatalogError('rate_limited', { retry_after_s });
  const header = (name: string) => headerOf(req, name);
  const shown = await options.findStore(header('host'));
  if (!shown) throw new CatalogError('path_not_found');
  const { store_id } = shown;
  const view = options.views[shown.environment];
  const version = await view.current();
  if (!version) throw new CatalogError('unavailable');
  const { name } = assertActive(await version.get('stores', store_id)).body;
  const shop = { view, store_id, base_url: ownAddress(header), name: String(name), now: options.now() };
  return { shop, version };
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
      const opened = await openShop(options, req);
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
  { shop: { store_id, base_url, name }, version }: OpenedShop,
  content_type: string,
  lines: AsyncIterable<string>,
): Promise<Answer> {
  const digest = await catalog_state.digest(version, store_id);
  const state = JSON.stringify([VERSION, base_url, store_id, name, version.version, digest]);
  const etag = digest === undefined ? undefined : etagOf(undefined, state);
  const encoding = encodingOf(req.headers['accept-encoding']);
  const headers = {
    'Content-Type': content_type,
    'Cache-Control': 'no-cache',
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
    const { limit, cursor, severity } = parseQuery(reads.listFeedIssues.query, request.query);
    const channel = request.params.channel as ChannelName;
    if (!Object.hasOwn(CHANNELS, channel)) throw new CatalogError('path_not_found');
    const store_id = requestedStore(request);
    const version = await openStore(deps, request, store_id);
    const { name } = assertActive(await version.get('stores', store_id)).body;
    const { view } = deps[request.principal.environment];
    const shop = { view, store_id, base_url: ownAddress(request.header), name: String(name), now: now() };
    const after = cursor === undefined ? undefined : parsePlace(cursor);
    const { issues, next } = await readIssues(shop, CHANNELS[channel], { after, limit, severity });
    const meta = { limit, ...(next && { next_cursor: placeText(next) }) };
    return { data: issues as unknown as Answer['data'], meta };
  });
}
