import type { AnswerOf, DataOf, OperationId, ReadId } from './endpoints';
import { Memory } from './memory';
import type { ClientOptions, ListOptions, ReadOptions, WriteOptions } from './options';
import { Transport } from './transport';

export type WriteId = Exclude<OperationId, ReadId | 'issueToken' | 'refreshToken' | 'validateToken'>;

/** What the resources of the client have in common: reads that may be fresh or known, writes that are made once. */
export class Calls {
  readonly transport: Transport;
  readonly memory = new Memory();
  private readonly consistent: boolean;

  constructor(options: ClientOptions) {
    this.transport = new Transport(options);
    this.consistent = options.consistent ?? false;
  }

  /** The `data` of a read by id. */
  async read<Id extends ReadId, Data extends DataOf<Id> & object>(
    operation: Id,
    target: { readonly id?: string; readonly query?: object },
    options: ReadOptions<Data>,
  ): Promise<Data> {
    const { signal, known } = options;
    const headers = {
      ...this.freshness(options),
      ...(known === undefined ? {} : { 'if-none-match': this.memory.etag(known) }),
    };
    const answer = await this.transport.call(operation, { ...target, headers, signal });
    if (answer.status === 304 && known !== undefined) return known;
    return this.memory.note(answer.body.data as Data, answer.status, answer.headers);
  }

  /** The whole body of a read of a page. */
  async page<Id extends ReadId>(
    operation: Id,
    target: { readonly id?: string; readonly query?: object },
    options: ListOptions,
  ): Promise<AnswerOf<Id>> {
    const headers = this.freshness(options);
    const answer = await this.transport.call(operation, { ...target, headers, signal: options.signal });
    return this.memory.note(answer.body, answer.status, answer.headers);
  }

  async write<Id extends WriteId>(
    operation: Id,
    target: { readonly id?: string; readonly body?: object },
    options: WriteOptions,
  ): Promise<DataOf<Id>> {
    const { signal, idempotencyKey, ifMatch, respondAsync, ...query } = options;
    const headers = {
      // Made before the first attempt, and the same for all.
      'idempotency-key': idempotencyKey ?? crypto.randomUUID(),
      ...(ifMatch === undefined ? {} : { 'if-match': this.memory.etag(ifMatch) }),
      ...(respondAsync ? { prefer: 'respond-async' } : {}),
    };
    const answer = await this.transport.call(operation, { ...target, query, headers, signal });
    return this.memory.note(answer.body.data, answer.status, answer.headers);
  }

  private freshness({ consistent = this.consistent }: ListOptions): Record<string, string> {
    const position = consistent === true ? this.memory.position : consistent || undefined;
    return position === undefined ? {} : { 'x-catalog-min-position': position };
  }
}
