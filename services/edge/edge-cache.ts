import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Authenticator } from '../../shared/http/auth';
import type { CacheObserver } from '../../shared/http/metrics';
import { type Limits, rateLimitHeaders } from '../../shared/http/rate-limit';
import {
  type Principal,
  type RequestContext,
  type RequestRecords,
  recordWhenClosed,
  requestIdOf,
} from '../../shared/http/request';
import { endWithBody } from '../../shared/http/send-body';
import { LRUCache } from '../../shared/kernel/cache';
import type { PublicationId } from '../../shared/kernel/ids';
import type { System } from '../../shared/kernel/system';
import type { Verdict } from '../../shared/ports/rate-limiter';
import type { RecordPageView } from '../query/page-view-counter';
import { Admission } from './admission';
import { type Asked, askedBy } from './asked';
import { type CapturedAnswer, captureAnswer } from './capture';
import { answerFor, type Sent, type StoredAnswer, storedAnswer } from './stored-answer';
import type { Basis, Reading, Validity } from './validity';

export interface EdgeCacheOptions extends RequestRecords {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'authenticateNow'>;
  readonly limits: Pick<Limits, 'takeForKey' | 'takeForKeyNow'>;
  readonly validity: Validity;
  readonly system: System;
  readonly recordPageView: RecordPageView;
  readonly onCache: CacheObserver;
  /** Memory for stored answers. */
  readonly bytes_max: number;
}

/** A request for which the cache may have the answer. */
interface Exchange {
  readonly asked: Asked;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** By `performance.now()`. */
  readonly started_ms: number;
}

interface Entry {
  readonly answer: StoredAnswer;
  basis: Basis;
}

/** Approximate memory of an entry besides its body and its key: headers, basis, the nodes of the map. */
const ENTRY_BYTES = 1_500;
/** One answer may take this part of the cache, so that a few large ones do not take the place of hundreds. */
const SHARE_MAX = 1 / 32;
/** From this part of its memory on, the cache stores only what is asked for again. */
const FULL = 0.9;
const AUDIENCES_MAX = 10_000;

/**
 * Sends answers of the app again while they are up to date, as a cache in front of the service would, but exactly: the
 * request is authenticated, limited, counted and logged like any other, and the answer is what the app would send now
 * (docs/http.md#edge-cache). The app answers everything that the cache does not have.
 */
export class EdgeCache {
  private readonly options: EdgeCacheOptions;
  private readonly entries: LRUCache<string, Entry>;
  private readonly admission = new Admission();
  /** The number of each set of rights, which keys of entries begin with. */
  private readonly audiences = new LRUCache<string, number>({ max: AUDIENCES_MAX });
  private readonly audience_of = new WeakMap<Principal, number>();
  private last_audience = 0;

  constructor(options: EdgeCacheOptions) {
    this.options = options;
    const { bytes_max } = options;
    this.entries = new LRUCache({
      maxSize: bytes_max,
      maxEntrySize: Math.floor(bytes_max * SHARE_MAX),
      sizeCalculation: ({ answer }, key) =>
        ENTRY_BYTES + 2 * key.length + (answer.complete?.body.length ?? 0),
    });
  }

  /**
   * Returns the listener that answers from the cache, and otherwise passes the request to `app` unchanged. Answers the
   * requests of one turn of the event loop together, after all of them have arrived: then the store has to be asked only
   * once whether its documents have changed.
   */
  inFrontOf(app: RequestListener): RequestListener {
    let waiting: Exchange[] = [];
    const answerWaiting = (): void => {
      const exchanges = waiting;
      waiting = [];
      for (const exchange of exchanges) void this.answerOrPass(exchange, app);
    };
    return (request, response) => {
      const asked = askedBy(request);
      if (asked === undefined) app(request, response);
      else if (waiting.push({ asked, request, response, started_ms: performance.now() }) === 1)
        setImmediate(answerWaiting);
    };
  }

  private async answerOrPass(exchange: Exchange, app: RequestListener): Promise<void> {
    const { request, response } = exchange;
    try {
      if ((await this.answer(exchange)) === 'answered') return;
    } catch {
      // The app reads again, and answers with the error if it fails, too.
    }
    if (!response.headersSent) app(request, response);
  }

  /** Answers from the cache, at once if possible. Otherwise has the answer of the app stored. */
  private async answer(exchange: Exchange): Promise<'answered' | undefined> {
    const { authenticator, limits, validity, onCache } = this.options;
    const { asked, request, response } = exchange;
    const principal =
      authenticator.authenticateNow(asked.bearer) ?? (await authenticator.authenticate(asked.bearer));
    const { environment } = principal;
    const view = validity.currentViewNow(environment) ?? (await validity.currentView(environment));
    if (view === undefined) return undefined;
    const key = `${this.audienceOf(principal)} ${asked.key}`;
    const entry = this.entries.get(key);
    const sent = entry && answerFor(entry.answer, asked.if_none_match);
    const confirmed = sent && validity.confirm(entry.basis, view);
    const basis = confirmed instanceof Promise ? await confirmed : confirmed;
    onCache('edge', basis !== undefined);
    if (entry && sent && basis) {
      entry.basis = basis;
      const verdict = limits.takeForKeyNow(principal) ?? (await limits.takeForKey(principal));
      // A refused request takes no token, so the app refuses it again.
      if (!verdict.allowed) return undefined;
      this.send(exchange, principal, sent, verdict);
      this.countView(request, principal, basis);
      return 'answered';
    }
    if (entry === undefined && !this.isWorthStoring(key)) return undefined;
    const reading = await validity.begin(view, asked, request.url ?? '', principal);
    if (reading)
      captureAnswer(response, this.entries.maxEntrySize, (captured) => {
        // An answer that could not be stored is read again next time.
        this.store(key, captured, reading).catch(() => undefined);
      });
    return undefined;
  }

  private send(exchange: Exchange, principal: Principal, sent: Sent, verdict: Verdict): void {
    const { asked, request, response, started_ms } = exchange;
    const client_id = request.headers['x-request-id'];
    const request_id = requestIdOf(
      typeof client_id === 'string' ? client_id : undefined,
      this.options.system,
    );
    const { path, route } = asked;
    const context: RequestContext = { request_id, started_ms, area: 'api', path, route, principal };
    const limit_headers = rateLimitHeaders(verdict, principal.key_type);
    response.writeHead(sent.status, ['X-Request-Id', request_id, ...limit_headers, ...sent.headers]);
    if (sent.body instanceof Buffer) endWithBody(response, sent.body);
    else response.end(sent.body, 'latin1');
    recordWhenClosed(request.method ?? '', response, context, this.options);
  }

  private async store(key: string, captured: CapturedAnswer, reading: Reading): Promise<void> {
    const answer = storedAnswer(captured);
    const basis = answer && (await this.options.validity.end(reading));
    if (basis) this.entries.set(key, { answer, basis });
  }

  private isWorthStoring(key: string): boolean {
    const { size, calculatedSize, maxSize } = this.entries;
    return calculatedSize < FULL * maxSize || this.admission.wasAskedFor(key, size);
  }

  /** Returns a number that two principals share if they may see the same. */
  private audienceOf(principal: Principal): number {
    const known = this.audience_of.get(principal);
    if (known !== undefined) return known;
    const { environment, key_type, stores, permissions } = principal;
    const rights = [environment, key_type, stores.join(), [...permissions].sort().join()].join(' ');
    const number = this.audiences.get(rights) ?? ++this.last_audience;
    this.audiences.set(rights, number);
    this.audience_of.set(principal, number);
    return number;
  }

  /** Counts what the app counts (docs/interface.md#views). */
  private countView({ method }: IncomingMessage, principal: Principal, { source }: Basis): void {
    if (method !== 'GET' || principal.key_type !== 'public' || source?.collection !== 'publications') return;
    const { store_id, id } = source;
    const { environment } = principal;
    this.options.recordPageView({ environment, store_id, publication_id: id as PublicationId });
  }
}
