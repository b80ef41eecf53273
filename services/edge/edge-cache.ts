import { hash } from 'node:crypto';
import { reads } from '../../shared/api/operations/reads';
import type { Environment } from '../../shared/catalog/realm';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { CacheObserver } from '../../shared/http/metrics';
import type { Principal } from '../../shared/http/request';
import { encode, encodingOf, type Render, renderRead } from '../../shared/http/respond';
import type { Answer, ApiRequest, Route } from '../../shared/http/route';
import { declaredParameters } from '../../shared/http/validation';
import { LRUCache } from '../../shared/kernel/cache';
import type { PublicationId } from '../../shared/kernel/ids';
import type { RecordPageView } from '../query/page-view-counter';
import { choiceOf } from '../query/presentation';
import { prefersImage } from '../query/resources';
import { Admission } from './admission';
import type { Basis, CountedReader, Reading, Validity } from './validity';

export interface EdgeCacheOptions {
  readonly validity: Validity;
  readonly recordPageView: RecordPageView;
  readonly onCache: CacheObserver;
  /** Memory for stored answers. */
  readonly bytes_max: number;
}

/** An answer, or a store with several answers to the same parameters. Each is under a key of its own. */
type Entry = StoredAnswer | { readonly store: ActiveStore };

interface StoredAnswer {
  readonly answer: EncodedAnswer;
  basis: Basis;
}

type EncodedAnswer = Answer & Required<Pick<Answer, 'reply'>>;

/** Approximate memory of an entry besides its body and its key: headers, basis, the nodes of the map. */
const ENTRY_BYTES = 1_500;
const COUNTRY = /^[A-Z]{2}$/;
/** One answer may take this part of the cache, so that a few large ones do not take the place of hundreds. */
const SHARE_MAX = 1 / 32;
/** From this part of its memory on, the cache stores only what is asked for again. */
const FULL = 0.9;

/**
 * Wraps the handlers of reads: they return the answer of an earlier read again while it is up to date, as a cache in front of
 * the service would, but exactly. The answer is what the read would return now (docs/http.md#edge-cache).
 */
export class EdgeCache {
  private readonly options: EdgeCacheOptions;
  private readonly entries: LRUCache<string, Entry>;
  private readonly admission = new Admission();
  private readonly audiences = new WeakMap<Principal, string>();
  private turns: Partial<Record<Environment, Promise<CountedReader | undefined>>> = {};

  constructor(options: EdgeCacheOptions) {
    this.options = options;
    const { bytes_max } = options;
    this.entries = new LRUCache({
      maxSize: bytes_max,
      maxEntrySize: Math.floor(bytes_max * SHARE_MAX),
      sizeCalculation: (entry, key) =>
        ENTRY_BYTES +
        2 * key.length +
        ('answer' in entry ? Number(entry.answer.reply.headers['Content-Length']) : 0),
    });
  }

  /** Returns the route with a handler that answers from the cache if it can. `render` makes the text of its answers. */
  inFrontOf(route: Route, render: Render = renderRead): Route {
    // The countries of one market share answers: what a country chooses is in the key of an answer (`choiceOf`).
    const others = [...(route.parameters ?? [])].filter((name) => name !== 'country');
    const by_country = { ...route, parameters: new Set(others) };
    const keyed = ({ query: { country = [] } }: ApiRequest): Route =>
      country.length === 1 && COUNTRY.test(country[0]!) && route.parameters?.has('country')
        ? by_country
        : route;
    return { ...route, handler: (request) => this.answer(keyed(request), request, render) };
  }

  /** Returns a stored answer if it is up to date, otherwise that of the route, and stores it. */
  private async answer(route: Route, request: ApiRequest, render: Render): Promise<Answer> {
    // A read that waits for a position may use documents whose changes a generation does not count. The prices of a price list
    // are in no stored answer, so no other key can get them from here.
    if (request.header('x-catalog-min-position') !== undefined || request.principal.price_list !== undefined)
      return route.handler(request);
    const key = this.keyOf(route, request);
    const found = await this.find(key, request).catch(() => undefined);
    if (found?.answer) return found.answer;
    const answer = await route.handler(request);
    if (!found?.reading || !isStorable(answer)) return answer;
    const reply = await encode(request.header('accept-encoding'), await render(answer));
    const stored = { data: null, reply };
    // An answer that cannot be stored is made again next time.
    this.store(key, stored, found.reading, answer, request).catch(() => undefined);
    return stored;
  }

  /** On a hit, returns the answer. On a miss, returns the reading with which `store` can save the answer. */
  private async find(key: string, request: ApiRequest) {
    const { validity, onCache } = this.options;
    const reader = await this.currentReader(request.principal.environment);
    if (reader === undefined) return undefined;
    const entry = this.entryOf(key, request);
    const basis = entry && (await validity.confirm(entry.basis, reader));
    onCache('edge', basis !== undefined);
    if (entry && basis) {
      entry.basis = basis;
      this.countView(request, basis);
      return { answer: entry.answer, reading: undefined };
    }
    const is_stored = this.isWorthStoring(key, entry);
    return { answer: undefined, reading: is_stored ? await validity.begin(reader, request) : undefined };
  }

  /**
   * Returns the active version after all requests of this turn of the event loop have arrived. So the store is asked only
   * once per turn whether its documents have changed.
   */
  private currentReader(environment: Environment): Promise<CountedReader | undefined> {
    this.turns[environment] ??= new Promise((resolve) =>
      setImmediate(() => {
        delete this.turns[environment];
        resolve(this.options.validity.currentReader(environment));
      }),
    );
    return this.turns[environment];
  }

  /** Returns the stored answer in the language and the currency that the request asks for. */
  private entryOf(key: string, request: ApiRequest): StoredAnswer | undefined {
    const found = this.entries.get(key);
    if (found === undefined || 'answer' in found) return found;
    const choice = choiceOf(found.store, request);
    return this.entries.get(`${choice} ${key}`) as StoredAnswer | undefined;
  }

  private async store(
    key: string,
    answer: EncodedAnswer,
    reading: Reading,
    made: Answer,
    request: ApiRequest,
  ): Promise<void> {
    const basis = await this.options.validity.end(reading, made);
    if (!basis) return;
    const { store } = basis;
    const choice = store && choiceOf(store, request);
    if (store && choice !== undefined) this.entries.set(key, { store });
    this.entries.set(choice === undefined ? key : `${choice} ${key}`, { answer, basis });
  }

  private isWorthStoring(key: string, entry: StoredAnswer | undefined): boolean {
    const { size, calculatedSize, maxSize } = this.entries;
    return entry !== undefined || calculatedSize < FULL * maxSize || this.admission.wasAskedFor(key, size);
  }

  /** Returns what decides the answer to a read, besides the documents. */
  private keyOf({ path, parameters }: Route, { principal, params, query, header }: ApiRequest): string {
    const encoding = encodingOf(header('accept-encoding'));
    const declared = parameters ? declaredParameters(query, parameters) : JSON.stringify(query);
    // Only a media has answers of several types.
    const is_picture = path === reads.getMedia.path && prefersImage(header('accept'));
    const in_path = Object.values(params).join('/');
    return `${this.audienceOf(principal)} ${encoding} ${is_picture} ${path}${declared}\n${in_path}`;
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
  private countView({ method, principal }: ApiRequest, { made_from }: Basis): void {
    if (method !== 'GET' || principal.key_type !== 'public') return;
    if (made_from?.collection !== 'publications') return;
    const { store_id, id } = made_from;
    const { environment } = principal;
    this.options.recordPageView({ environment, store_id, publication_id: id as PublicationId });
  }
}

/** Whether the answer is a 200 with the envelope. */
const isStorable = ({ status = 200, file, reply }: Answer): boolean => status === 200 && !file && !reply;
