import type { Proposal } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, BodyOf, QueryOf } from './operations.js';
import type { ListOptions, ReadOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** Proposals: writes with a key that needs confirmation. Such a write rejects with `CatalogProposedError`. */
export class ProposalCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Lists the proposals of the store, newest first.
   *
   * @example
   * for await (const { id, summary } of client.proposals.list({ status: 'waiting' })) console.log(id, summary);
   */
  list(
    query: QueryOf<'listProposals'> = {},
    options: ListOptions = {},
  ): Pages<Proposal, AnswerOf<'listProposals'>> {
    return listOf((page) => this.calls.page('listProposals', { query: page }, options), query);
  }

  /** Returns a proposal, with the body of the write and its result. */
  get(id: string, options: ReadOptions<Proposal> = {}): Promise<Proposal> {
    return this.calls.read('getProposal', { id }, options);
  }

  /**
   * Carries the write out. The client needs a secret key that could make the write itself.
   *
   * @example
   * const { result } = await client.proposals.confirm(id);
   * if (result?.error) console.log(result.error.message);
   */
  confirm(id: string, options: WriteOptions = {}): Promise<Proposal> {
    return this.calls.write('confirmProposal', { id }, options);
  }

  /** Rejects the write. */
  reject(id: string, body: BodyOf<'rejectProposal'> = {}, options: WriteOptions = {}): Promise<Proposal> {
    return this.calls.write('rejectProposal', { id, body }, options);
  }
}
