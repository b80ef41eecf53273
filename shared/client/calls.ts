import { AnswerInfos } from './answer-info.js';
import type { Proposal } from './api.js';
import { CatalogProposedError } from './errors.js';
import type { AnswerOf, DataOf, EnvelopeId, Expandable, ExpandedList, ListId, ReadId } from './operations.js';
import type { ClientOptions, ListOptions, ReadOptions, WriteOptions } from './options.js';
import { listOf } from './pages.js';
import { Transport } from './transport.js';

const isProposal = (data: object): data is Proposal => 'object' in data && data.object === 'proposal';

export type WriteId = Exclude<EnvelopeId, ReadId | 'issueToken' | 'refreshToken' | 'validateToken'>;

/** Sends reads and writes for the resource classes: sets the conditional and consistency headers, and records ETags. */
export class Calls {
  readonly transport: Transport;
  readonly infos = new AnswerInfos();
  private readonly consistent: boolean;
  private readonly run: string | undefined;

  constructor(options: ClientOptions) {
    this.transport = new Transport(options);
    this.consistent = options.consistent ?? false;
    this.run = options.run;
  }

  /** Returns the `data` of a read. Returns `options.cached` itself if the service answers 304. */
  async read<Id extends ReadId, Data extends DataOf<Id> & object>(
    operation: Id,
    target: { readonly id?: string; readonly revision?: number; readonly query?: object },
    options: ReadOptions<Data>,
  ): Promise<Data> {
    const { cached } = options;
    const headers = {
      ...this.consistencyHeader(options),
      ...(cached === undefined ? {} : { 'if-none-match': this.infos.etagOf(cached) }),
    };
    const response = await this.transport.call(operation, { ...target, headers, options });
    if (response.status === 304 && cached !== undefined) return cached;
    return this.infos.record(response.body.data as Data, response.status, response.headers);
  }

  /** Returns the whole body of one page: `data` and `meta`. */
  async page<Id extends ReadId>(
    operation: Id,
    target: { readonly id?: string; readonly query?: object },
    options: ListOptions,
  ): Promise<AnswerOf<Id>> {
    const headers = this.consistencyHeader(options);
    const response = await this.transport.call(operation, { ...target, headers, options });
    return this.infos.record(response.body, response.status, response.headers);
  }

  /** Returns the pages of a list whose items can be expanded. */
  list<Id extends ListId, Values extends Expandable>(
    operation: Id,
    { query, ...target }: { readonly id?: string; readonly query: object },
    options: ListOptions,
  ): ExpandedList<Id, Values> {
    const read = (page: object) => this.page(operation, { ...target, query: page }, options);
    // Only the service knows that the answer has what `expand` asks for.
    return listOf(read, query) as unknown as ExpandedList<Id, Values>;
  }

  /** Sends a write with an `Idempotency-Key`, so that retries write once. Returns the `data` of the response. */
  async write<Id extends WriteId>(
    operation: Id,
    target: { readonly id?: string; readonly body?: object },
    options: WriteOptions,
  ): Promise<DataOf<Id>> {
    const { signal, fetchOptions, idempotencyKey, ifMatch, run = this.run, respondAsync, ...query } = options;
    const headers = {
      // Generated here and not in the transport: every attempt of this call must send the same key.
      'idempotency-key': idempotencyKey ?? crypto.randomUUID(),
      ...(ifMatch === undefined ? {} : { 'if-match': this.infos.etagOf(ifMatch) }),
      ...(run === undefined ? {} : { 'x-catalog-run': run }),
      ...(respondAsync ? { prefer: 'respond-async' } : {}),
    };
    const response = await this.transport.call(operation, { ...target, query, headers, options });
    const { status, body } = response;
    // A start of an import is also answered with 202.
    if (status === 202 && isProposal(body.data)) throw new CatalogProposedError(body.data);
    return this.infos.recordPosition(response.body.data, response.status, response.headers);
  }

  private consistencyHeader({ consistent = this.consistent }: ListOptions): Record<string, string> {
    const position = consistent === true ? this.infos.position : consistent || undefined;
    return position === undefined ? {} : { 'x-catalog-min-position': position };
  }
}
