import { Calls } from './calls';
import { ListingCalls } from './listings';
import { MediaCalls } from './media';
import type { AnswerInfo } from './memory';
import type { ClientOptions } from './options';
import { PublicationCalls } from './publications';
import { StoreCalls } from './stores';
import { TokenCalls } from './tokens';

/**
 * Speaks to the catalog service, in Node.js and in browsers. It gets and renews its tokens, waits where a rate limit
 * asks it to, and repeats what got no answer, writing once. What the service refuses is a `CatalogApiError`; where
 * it cannot be reached, a `CatalogConnectionError`.
 *
 * @example
 * const client = new CatalogClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'pk_live_…' });
 * for await (const publication of client.publications.list({ sort: 'price' })) console.log(publication.title);
 */
export class CatalogClient {
  readonly store: StoreCalls;
  readonly listings: ListingCalls;
  readonly publications: PublicationCalls;
  readonly media: MediaCalls;
  readonly tokens: TokenCalls;
  private readonly calls: Calls;

  constructor(options: ClientOptions) {
    this.calls = new Calls(options);
    this.store = new StoreCalls(this.calls);
    this.listings = new ListingCalls(this.calls);
    this.publications = new PublicationCalls(this.calls);
    this.media = new MediaCalls(this.calls);
    this.tokens = new TokenCalls(this.calls);
  }

  /** Where in the log the newest write of this client is, for another's `consistent`; undefined before the first. */
  get position(): string | undefined {
    return this.calls.memory.position;
  }

  /**
   * What the answer said beside the data: its ETag, position, request id and what is left of the rate limit.
   *
   * @param data What a method of this client gave: a resource or a page; undefined for anything else, copies included.
   */
  answerOf(data: object): AnswerInfo | undefined {
    return this.calls.memory.of(data);
  }
}
