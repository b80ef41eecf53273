/** What an answer said besides its data. */
export interface AnswerInfo {
  readonly status: number;
  /** Of the version and of what was asked for; for `ifMatch`, where a resource is at hand, that will do. */
  readonly etag: string | undefined;
  /** Of a write: where in the log it is, for reads that must show it. */
  readonly position: string | undefined;
  /** Of a write: whether the answer is the one of an earlier request. */
  readonly replayed: boolean;
  readonly requestId: string | undefined;
  /** What is left of the key's limit, per minute; resets at a Unix second. */
  readonly rateLimit: { readonly limit: number; readonly remaining: number; readonly reset: number };
}

/** What the client keeps of the answers it was given: nothing of what nobody holds any more. */
export class Memory {
  private readonly answers = new WeakMap<object, AnswerInfo>();
  private newest: string | undefined;

  /** Of the newest write. */
  get position(): string | undefined {
    return this.newest;
  }

  note<Data extends object>(data: Data, status: number, headers: Headers): Data {
    const info = infoOf(status, headers);
    this.answers.set(data, info);
    const { position } = info;
    if (position !== undefined && BigInt(position) > BigInt(this.newest ?? 0)) this.newest = position;
    return data;
  }

  of(data: object): AnswerInfo | undefined {
    return this.answers.get(data);
  }

  /** The ETag itself, or that of what was given before. */
  etag(version: object | string): string {
    const etag = typeof version === 'string' ? version : this.of(version)?.etag;
    if (etag === undefined)
      throw new TypeError('This client was given no such resource, or one without ETag');
    return etag;
  }
}

function infoOf(status: number, headers: Headers): AnswerInfo {
  const text = (name: string): string | undefined => headers.get(name) ?? undefined;
  const number = (name: string): number => Number(headers.get(name) ?? Number.NaN);
  return {
    status,
    etag: text('etag'),
    position: text('x-catalog-position'),
    replayed: headers.has('idempotent-replayed'),
    requestId: text('x-request-id'),
    rateLimit: {
      limit: number('x-ratelimit-limit'),
      remaining: number('x-ratelimit-remaining'),
      reset: number('x-ratelimit-reset'),
    },
  };
}
