import type { AnswerInfo } from './answer-info.js';
import { Calls } from './calls.js';
import { FeedCalls } from './feeds.js';
import { ImportCalls } from './imports.js';
import { KeyCalls } from './keys.js';
import { ListingCalls } from './listings.js';
import { MediaCalls } from './media.js';
import type { ClientOptions } from './options.js';
import { ProposalCalls } from './proposals.js';
import { PublicationCalls } from './publications.js';
import { ReviewCalls } from './reviews.js';
import { RunCalls } from './runs.js';
import { StoreCalls } from './stores.js';
import { TokenCalls } from './tokens.js';
import { WebhookCalls } from './webhooks.js';

/**
 * Client of the catalog service for Node.js and browsers. It obtains and renews tokens, waits when it is rate
 * limited, and retries failed requests; a retried write takes effect once. Methods reject with `CatalogApiError` if
 * the service rejects the request, and with `CatalogConnectionError` if the service cannot be reached.
 *
 * @example
 * const client = new CatalogClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'pk_live_…' });
 * for await (const publication of client.publications.list({ sort: 'price' })) console.log(publication.title);
 */
export class CatalogClient {
  /** The store: its profile, its listings and payment methods, and search. */
  readonly store: StoreCalls;
  /** Listings: the categories of the store. */
  readonly listings: ListingCalls;
  /** Publications: the products of the store. */
  readonly publications: PublicationCalls;
  /** Media: the pictures of the store. */
  readonly media: MediaCalls;
  /** Reviews: for the merchant who moderates them. */
  readonly reviews: ReviewCalls;
  readonly webhooks: WebhookCalls;
  /** API keys of the store. */
  readonly keys: KeyCalls;
  /** Imports: files that a merchant brings into the store. */
  readonly imports: ImportCalls;
  /** Runs: writes that are undone together. */
  readonly runs: RunCalls;
  /** Proposals: writes that wait for the confirmation of a person. */
  readonly proposals: ProposalCalls;
  /** Feeds for marketplaces, advertisers and agents. */
  readonly feeds: FeedCalls;
  /** Tokens, for requests that your code sends without this client. */
  readonly tokens: TokenCalls;
  private readonly calls: Calls;

  constructor(options: ClientOptions) {
    this.calls = new Calls(options);
    this.store = new StoreCalls(this.calls);
    this.listings = new ListingCalls(this.calls);
    this.publications = new PublicationCalls(this.calls);
    this.media = new MediaCalls(this.calls);
    this.reviews = new ReviewCalls(this.calls);
    this.webhooks = new WebhookCalls(this.calls);
    this.keys = new KeyCalls(this.calls);
    this.imports = new ImportCalls(this.calls);
    this.runs = new RunCalls(this.calls);
    this.proposals = new ProposalCalls(this.calls);
    this.feeds = new FeedCalls(this.calls);
    this.tokens = new TokenCalls(this.calls);
  }

  /**
   * Position in the log of this client's newest write, or of the newest change that it has read; undefined before both.
   * Another client that reads
   * with `consistent` set to this position sees the write.
   *
   * @example
   * await merchant.publications.create({ title: 'Tea', price_currency: 'PEN', price_amount: 1_250 });
   * await shop.publications.list({}, { consistent: merchant.position }).all();
   */
  get position(): string | undefined {
    return this.calls.infos.position;
  }

  /**
   * Returns the status and headers of the response that `data` came from: ETag, position, lag, request id, rate limit.
   *
   * @param data A resource or page that this client returned. Returns undefined for any other object, copies included.
   * @example
   * const tea = await client.publications.get(id);
   * console.log(client.answerOf(tea)?.etag);
   */
  answerOf(data: object): AnswerInfo | undefined {
    return this.calls.infos.get(data);
  }
}
