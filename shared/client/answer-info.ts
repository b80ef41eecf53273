/** Status and headers of the response that a resource or page came from. */
export interface AnswerInfo {
  readonly status: number;
  /** Reads only: the locale of the texts, if the store has several. */
  readonly language: string | undefined;
  /** ETag of the response. `ifMatch` accepts the ETag, and also the resource itself. */
  readonly etag: string | undefined;
  /**
   * Of a write: its position in the log. Pass it to `consistent` to read a state that includes the write. Of a read: the
   * position in the log up to which its state contains all events, if the service says so.
   */
  readonly position: string | undefined;
  /**
   * Writes only: whether the service returned the stored response of an earlier request with the same idempotency
   * key.
   */
  readonly replayed: boolean;
  /** Reads only: how long the oldest event that the state lacks has waited, in milliseconds, if the service says so. */
  readonly lagMs: number | undefined;
  /** How long ago `lagMs` was read, in milliseconds, if that is more than a second. */
  readonly lagAgeMs: number | undefined;
  readonly requestId: string | undefined;
  /**
   * The key's limit per minute, the number of requests left, and the Unix second at which all are left again. `NaN` if the
   * answer does not have them.
   */
  readonly rateLimit: { readonly limit: number; readonly remaining: number; readonly reset: number };
}

/**
 * Stores the `AnswerInfo` of every object that the client has returned, until the object is garbage-collected. Also stores
 * the position of the newest write or change.
 */
export class AnswerInfos {
  private readonly infos = new WeakMap<object, AnswerInfo>();
  private newest_position: string | undefined;

  /** Position of the newest write of the client, or of the newest change that it has read. Undefined before both. */
  get position(): string | undefined {
    return this.newest_position;
  }

  /** Stores the status and headers under `data`, and returns `data`. */
  record<Data extends object>(data: Data, status: number, headers: Headers): Data {
    this.infos.set(data, parseInfo(status, headers));
    return data;
  }

  /** Stores the status and headers of a write or of changes under `data`, and the newest position. Returns `data`. */
  recordPosition<Data extends object>(data: Data, status: number, headers: Headers): Data {
    this.record(data, status, headers);
    const position = this.get(data)?.position;
    // Responses may arrive in another order than their positions.
    if (position !== undefined && BigInt(position) > BigInt(this.newest_position ?? 0))
      this.newest_position = position;
    return data;
  }

  /** Returns what was recorded for `data`. Returns undefined for a copy of `data`. */
  get(data: object): AnswerInfo | undefined {
    return this.infos.get(data);
  }

  /**
   * Returns the ETag that was recorded for an object, or the argument if it is a string. Throws `TypeError` if there
   * is none.
   */
  etagOf(version: object | string): string {
    const etag = typeof version === 'string' ? version : this.get(version)?.etag;
    if (etag === undefined)
      throw new TypeError(
        'No ETag for this object: pass an ETag, or an object that this client returned (not a copy of it).',
      );
    return etag;
  }
}

function parseInfo(status: number, headers: Headers): AnswerInfo {
  const text = (name: string): string | undefined => headers.get(name) ?? undefined;
  const number = (name: string): number => Number(headers.get(name) ?? Number.NaN);
  return {
    status,
    language: text('content-language'),
    etag: text('etag'),
    position: text('x-catalog-position'),
    replayed: headers.has('idempotent-replayed'),
    lagMs: headers.has('x-catalog-lag-ms') ? number('x-catalog-lag-ms') : undefined,
    lagAgeMs: headers.has('x-catalog-lag-age-ms') ? number('x-catalog-lag-age-ms') : undefined,
    requestId: text('x-request-id'),
    rateLimit: {
      limit: number('x-ratelimit-limit'),
      remaining: number('x-ratelimit-remaining'),
      reset: number('x-ratelimit-reset'),
    },
  };
}
