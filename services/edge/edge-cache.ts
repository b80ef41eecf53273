import { hash } from 'node:crypto';
import { reads } from '../../shared/api/operations/reads';
import type { Environment } from '../../shared/catalog/realm';
import type { CacheObserver } from '../../shared/http/metrics';
import type { AnswerCache } from '../../shared/http/pipeline';
import type { Principal } from '../../shared/http/request';
import { encodingOf, type Reply } from '../../shared/http/respond';
import type { RouteCall } from '../../shared/http/serve-route';
import { declaredParameters } from '../../shared/http/validation';
import { LRUCache } from '../../shared/kernel/cache';
import type { PublicationId } from '../../shared/kernel/ids';
import type { RecordPageView } from '../query/page-view-counter';
import { prefersImage } from '../query/resources';
import { Admission } from './admission';
import type { Basis, CountedView, Reading, Validity } from './validity';

export interface EdgeCacheOptions {
  readonly validity: Validity;
  readonly recordPageView: RecordPageView;
  readonly onCache: CacheObserver;
  /** Memory for stored answers. */
  readonly bytes_max: number;
}

interface Entry {
  readonly complete: Reply;
  readonly bytes: number;
  basis: Basis;
}

/** Approximate memory of an entry besides its body and its key: headers, basis, the nodes of the map. */
const ENTRY_BYTES = 1_500;
/** One answer may take this part of the cache, so that a few large ones do not take the place of hundreds. */
const SHARE_MAX = 1 / 32;
/** Shorter bodies are kept as text, which is sent faster. Longer ones stay outside of the heap. */
const TEXT_BYTES_MAX = 16_384;
/** From this part of its memory on, the cache stores only what is asked for again. */
const FULL = 0.9;

/**
 * Sends replies of reads again while they are up to date, as a cache in front of the service would, but exactly: it is a
 * stage after authentication and rate limit, and the reply is what the read would return now (docs/http.md#edge-cache).
 */
export class EdgeCache implements AnswerCache {
  private readonly options: EdgeCacheOptions;
  private readonly entries: LRUCache<string, Entry>;
  private readonly admission = new Admission();
  private readonly audiences = new WeakMap<Principal, string>();
  private turns: Partial<Record<Environment, Promise<CountedView | undefined>>> = {};

  constructor(options: EdgeCacheOptions) {
    this.options = options;
    const { bytes_max } = options;
    this.entries = new LRUCache({
      maxSize: bytes_max,
      maxEntrySize: Math.floor(bytes_max * SHARE_MAX),
      sizeCalculation: ({ bytes }, key) => ENTRY_BYTES + 2 * key.length + bytes,
    });
  }

  /** Returns a stored reply if it is up to date, otherwise what `produce` returns, and stores that. */
  async answer(call: RouteCall, produce: (is_kept: boolean) => Promise<Reply>): Promise<Reply> {
    const { req } = call.exchange;
    // A read that waits for a position may use other documents than those that a generation counts.
    if (req.headers['x-catalog-min-position'] !== undefined) return produce(false);
    // Sales begin and end without an event.
    if (call.query.has_discount !== undefined) return produce(false);
    const key = this.keyOf(call);
    const found = await this.find(key, call).catch(() => undefined);
    if (found?.reply) return found.reply;
    const reply = await produce(found?.reading !== undefined);
    // A reply that cannot be stored is made again next time.
    if (found?.reading) this.store(key, reply, found.reading).catch(() => undefined);
    return reply;
  }

  /** Returns the stored reply. If there is none, returns the reading that is about to be made if its reply may be stored. */
  private async find(
    key: string,
    call: RouteCall,
  ): Promise<{ readonly reply?: Reply; readonly reading?: Reading } | undefined> {
    const { validity, onCache } = this.options;
    const view = await this.currentView(call.principal.environment);
    if (view === undefined) return undefined;
    const entry = this.entries.get(key);
    const basis = entry && (await validity.confirm(entry.basis, view));
    onCache('edge', basis !== undefined);
    if (entry && basis) {
      entry.basis = basis;
      this.countView(call, basis);
      return { reply: entry.complete };
    }
    return this.isWorthStoring(key, entry) ? this.reading(view, call) : undefined;
  }

  private async reading(view: CountedView, call: RouteCall): Promise<{ readonly reading?: Reading }> {
    const reading = await this.options.validity.begin(view, call);
    return reading ? { reading } : {};
  }

  /**
   * Returns the active version after all requests of this turn of the event loop have arrived. So the store is asked only
   * once per turn whether its documents have changed.
   */
  private currentView(environment: Environment): Promise<CountedView | undefined> {
    this.turns[environment] ??= new Promise((resolve) =>
      setImmediate(() => {
        delete this.turns[environment];
        resolve(this.options.validity.currentView(environment));
      }),
    );
    return this.turns[environment];
  }

  private async store(key: string, complete: Reply, reading: Reading): Promise<void> {
    const { status, headers, body, made_from } = complete;
    const is_json = headers['Content-Type']?.startsWith('application/json') === true;
    if (status !== 200 || !Buffer.isBuffer(body) || headers.ETag === undefined || !is_json) return;
    const basis = await this.options.validity.end(reading, made_from);
    if (!basis) return;
    const bytes = body.length;
    // A small buffer of Node shares its memory with others, which would stay with it.
    const kept = bytes <= TEXT_BYTES_MAX ? body.toString('latin1') : body;
    this.entries.set(key, { complete: { status, headers, body: kept }, bytes, basis });
  }

  private isWorthStoring(key: string, entry: Entry | undefined): boolean {
    const { size, calculatedSize, maxSize } = this.entries;
    return entry !== undefined || calculatedSize < FULL * maxSize || this.admission.wasAskedFor(key, size);
  }

  /** Returns what decides the answer to a read, besides the documents. */
  private keyOf({ exchange: { req, path }, route, principal, query }: RouteCall): string {
    const parameters = route.parameters ? declaredParameters(query, route.parameters) : req.url;
    // Only a media has answers of several types.
    const is_picture = route.path === reads.getMedia.path && prefersImage(req.headers.accept);
    return `${this.audienceOf(principal)} ${req.method} ${path}\n${parameters}\n${encodingOf(req)} ${is_picture}`;
  }

  /** Returns a text that two principals share if they may see the same. */
  private audienceOf(principal: Principal): string {
    const known = this.audiences.get(principal);
    if (known !== undefined) return known;
    const { environment, key_type, stores, permissions } = principal;
    const rights = JSON.stringify([environment, key_type, stores, [...permissions].sort()]);
    const audience = hash('sha256', rights, 'base64url');
    this.audiences.set(principal, audience);
    return audience;
  }

  /** Counts what the read counts (docs/interface/publications.md#views). */
  private countView({ exchange: { req }, principal }: RouteCall, { made_from }: Basis): void {
    if (req.method !== 'GET' || principal.key_type !== 'public') return;
    if (made_from?.collection !== 'publications') return;
    const { store_id, id } = made_from;
    const { environment } = principal;
    this.options.recordPageView({ environment, store_id, publication_id: id as PublicationId });
  }
}
