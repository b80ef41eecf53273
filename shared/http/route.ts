import type { ApiOperation, Method } from '../api/operations/operation';
import { shapeOf } from '../api/requests/parameters';
import type { JsonObject, Position } from '../catalog/events/envelope';
import type { Presentable } from '../catalog/json-text';
import type { Environment } from '../catalog/realm';
import type { ActiveStore } from '../catalog/store/document';
import type { Permission } from '../catalog/vocabulary';
import { withTimeout } from '../kernel/async';
import { CatalogError, type Condition } from '../kernel/errors';
import type { StoreId } from '../kernel/ids';
import type { BlobStore } from '../ports/blob-store';
import type { Operation } from '../ports/idempotency-store';
import type { KeyIdentity } from './rate-limit';
import type { HttpRequest, Principal } from './request';
import type { StreamSlots } from './stream-slots';
import type { Upload } from './upload';
import type { QueryParameters } from './validation';

/** An endpoint of `/api` that this process serves. */
export interface Route {
  readonly method: Method;
  /** Full path, such as `/api/listing/:id`. The parameter `id` must be a UUID. */
  readonly path: string;
  readonly permission: Permission;
  /** Further permissions that a query parameter or a field of a form requires, by its name. */
  readonly field_permissions?: Readonly<Record<string, Permission>>;
  /** Names of the query parameters. Others are ignored, and named in the response. */
  readonly parameters?: ReadonlySet<string>;
  readonly handler: (request: ApiRequest) => Promise<Answer>;
  /** For a read whose answer is a stream: limits how many run at the same time. */
  readonly slots?: StreamSlots;
  /** For a route that accepts a file: stores the file. The handler gets the result as `file` of the body. */
  readonly upload?: Upload;
}

/** A name that a write gives to a resource. */
export interface NameToGet {
  /** The id of the name's stream, equal for equal names. */
  readonly id: string;
  /** The field of the body that has the name. */
  readonly at: string;
}

/** A request to `/api/*` that has passed rate limit, authentication and the route's permission. */
export interface ApiRequest {
  readonly method: Method | 'HEAD';
  readonly principal: Principal;
  /** Path parameters. `id` is a valid UUID in lower case. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryParameters;
  /** The parsed JSON object of a write. `{}` if there is no body. */
  readonly body: JsonObject;
  readonly request_id: string;
  /** Of a write: the run that it belongs to, from `X-Catalog-Run`. */
  readonly run?: string | undefined;
  /** When the answer must begin, by `performance.now()`. */
  readonly answer_by_ms: number;
  /** Throws `unavailable` if the time for the answer is over, or if the client has left. For work that has waited. */
  assertAwaited(): void;
  /** A write calls this right before it sends an append. Rejects if the answer says that nothing was sent. */
  readonly beforeSend?: () => Promise<void>;
  /** If true, the request is an item of a batch, whose answer shows nothing of the resource but its id. */
  readonly is_item?: boolean;
  /** Set if the item is only checked: it reserves no names, but calls this with the names that it would get. */
  readonly onNames?: (names: readonly NameToGet[]) => void;
  /** Of an item: returns a resource as another item of the batch leaves it, undefined if no other item can write it. */
  readonly planned?: (resource: object) => Promise<object | undefined>;
  /** For a write with an `Idempotency-Key`. `resumed` says that an earlier attempt may have appended its events. */
  readonly operation?: Operation & { readonly idempotency_key: string };
  /** Returns a request header by its name in lower case. */
  header(name: string): string | undefined;
  /** Counts the request as this number of requests for the rate limit, or throws `rate_limited`. */
  readonly admitItems?: (count: number) => Promise<void>;
}

/** Result of a handler. `respond.ts` adds the envelope and the ETag, and responds with 304 if nothing changed. */
export interface Answer {
  /** Default: 200. */
  readonly status?: number;
  readonly data: Presentable;
  /** For lists: `meta` next to `data` (docs/interface/lists.md#pagination). */
  readonly meta?: JsonObject;
  /** Version of the resource: the part of the ETag that `If-Match` compares. Undefined for lists. */
  readonly version?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a write: fields of `data` that are sent, but are in no record of an `Idempotency-Key`. */
  readonly secrets?: JsonObject;
  /** Of a PATCH: whether it changed the resource. */
  readonly changed?: boolean;
  /** For a read whose answer has texts or prices: how to show them. */
  readonly as?: Presentation;
  /** For a read of variants: their publication. */
  readonly owner?: JsonObject;
  /** For a read: the only document that the answer was made from, besides the status of its store. */
  readonly made_from?: DocumentVersion;
  /** For a read: the complete response to send instead of `data`. If the client has its `ETag`, it gets 304. */
  readonly reply?: Reply;
  /** For a read: the file to send instead of `data`. */
  readonly file?: FileAnswer;
}

/** The language and the currency of an answer, which the request chooses among the settings of a store. */
export interface Presentation {
  readonly store: ActiveStore;
  /** The value of `Content-Language`. Undefined if the store has a single locale, or the answer all translations. */
  readonly locale?: string | undefined;
  /**
   * The locales in which a text is looked up, the best one first. If none has it, or the array is empty, the default text is shown.
   * Undefined: the answer has the default texts and all translations.
   */
  readonly locales?: readonly string[] | undefined;
  /** Undefined: each publication has its `price_currency`, and the prices in all other currencies. */
  readonly currency: string | undefined;
  /** Whether a resource in a language names its texts that are not translated. */
  readonly shows_untranslated: boolean;
}

/**
 * The bytes of a body. A string has one character per byte (`latin1`): Node sends it in one piece with the headers, which is
 * faster.
 */
export type Bytes = string | Buffer;

/** A response that is ready to be sent. */
export interface Reply {
  readonly status: number;
  /** Without the headers of the exchange. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Pieces may be made while they are sent: if that fails, the connection is closed. They end early if the client leaves.
   * Undefined if there is no body.
   */
  readonly body?: Bytes | AsyncIterable<Uint8Array>;
}

/** A document at a position. No other content of the document ever has the same position. */
export interface DocumentVersion {
  readonly collection: 'listings' | 'publications' | 'media' | 'webhooks' | 'proposals';
  readonly id: string;
  readonly position: Position;
  readonly store_id: StoreId;
}

/** A file of the blob store as the response. */
export interface FileAnswer {
  readonly blobs: Pick<BlobStore, 'size' | 'read'>;
  readonly hash: string;
  readonly content_type: string;
  /** Condition if the blob store does not have the file. */
  readonly missing: Condition;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Blob store of the pictures of each environment. */
export type Pictures = Readonly<Record<Environment, FileAnswer['blobs']>>;

/** Returns the route that serves an operation of the interface. */
export function routeOf(
  operation: ApiOperation,
  handler: Route['handler'],
  options: Pick<Route, 'upload' | 'slots'> = {},
): Route {
  const { method, path, permission, field_permissions, query } = operation;
  const parameters = new Set(query === undefined ? [] : Object.keys(shapeOf(query)));
  const optional = { ...(field_permissions && { field_permissions }), ...options };
  const read: Route['handler'] = (request) =>
    answerBy(request.answer_by_ms, handler(request), () => 'unavailable');
  const answer = method === 'GET' ? read : handler;
  return { method, path, permission, parameters, handler: answer, ...optional };
}

/** Settles as `answering` does. At `answer_by_ms` (by `performance.now()`), rejects with the condition instead. */
export function answerBy(
  answer_by_ms: number,
  answering: Promise<Answer>,
  conditionOf: () => Condition,
): Promise<Answer> {
  return withTimeout(answering, Math.max(0, answer_by_ms - performance.now()), () => {
    throw new CatalogError(conditionOf(), { message: 'the request did not end in time' });
  });
}

/** A text or file that is sent as it is. A client that has its `ETag` gets 304. */
export interface TextAnswer {
  readonly status?: number;
  readonly body: string | Buffer;
  /** Default: JSON. */
  readonly content_type?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Where to keep the bytes of a text that is sent often, by encoding. */
  readonly kept?: Map<string, Bytes>;
}

/** A route that needs no token and has no rate limit, such as `/docs` or a picture. */
export interface PublicRoute {
  readonly path: string;
  /** Default: GET. A GET also answers HEAD. The route reads bodies itself. */
  readonly methods?: readonly Method[];
  /** For an answer that is a stream: limits how many run at the same time. */
  readonly slots?: StreamSlots;
  readonly serve: (
    req: HttpRequest,
    params: Readonly<Record<string, string>>,
    request_id: string,
  ) => PublicAnswer | Promise<PublicAnswer>;
}

export type PublicAnswer = Answer | TextAnswer;

/** A request to `/auth/*` that was authenticated by its key or token. */
export interface AuthExchange extends KeyIdentity {
  /** Returns `data` of the response. Throws a `CatalogError` if the body is invalid. */
  respond(body: JsonObject): JsonObject;
}

/**
 * One endpoint of `/auth/*`. It authenticates by headers alone, because the rate limit depends on the key and applies
 * before the service reads the body.
 */
export interface AuthEndpoint {
  /** Part of the names of its rate-limit buckets. */
  readonly name: string;
  /** Authenticates the request. `header` takes names in lower case. Rejects with the error to send. */
  authenticate(header: (name: string) => string | undefined): Promise<AuthExchange>;
}

/** Endpoints by path, such as `/auth/token`. Each accepts only POST. */
export type AuthEndpoints = Readonly<Record<string, AuthEndpoint>>;
