import type { FeedIssue } from '../../shared/api/responses/resources';
import { longTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { Channel } from './channels';
import { type Fault, type Field, readField } from './fields';
import { type Place, type Product, productsOf, type Shop } from './products';

/** An answer ends after so many offers: half a second of CPU. */
const OFFERS_MAX = 5_000;
/** How many variants an issue names. */
const VARIANTS_NAMED_MAX = 10;

interface Wanted {
  readonly after: Place | undefined;
  readonly limit: number;
  readonly severity?: Fault['severity'] | undefined;
}

/**
 * Returns what a channel would refuse in the products after a place. All issues of a product are on the same page, so there
 * may be more than `limit`. `next` is the place after which there may be more.
 */
export async function readIssues(shop: Shop, channel: Channel, { after, limit, severity }: Wanted) {
  const issues: FeedIssue[] = [];
  let offers = 0;
  for await (const { place, product } of productsOf(shop, after)) {
    const turn = longTurn();
    if (turn) await turn;
    offers += product?.offers.length ?? 1;
    for (const issue of product ? issuesOf(product, channel) : [])
      if (severity === undefined || issue.severity === severity) issues.push(issue);
    if (issues.length >= limit || offers >= OFFERS_MAX) return { issues, next: place };
  }
  return { issues, next: undefined };
}

/** Returns the issues of a product, each once for all variants that have it. */
export function issuesOf(product: Product, { product_fields = [], fields }: Channel): FeedIssue[] {
  const { id: publication_id, title } = product.publication;
  const issues = new Map<string, FeedIssue & { variant_ids: string[] }>();
  const collect = <Subject>(of: readonly Field<Subject>[], subject: Subject, variant_id?: string): void => {
    for (const field of of) {
      const { fault } = readField(field, subject);
      if (!fault) continue;
      const id = [publication_id, field.name, fault.problem, fault.severity].join('.');
      const issue = issues.get(id) ?? {
        ...{ id, object: 'feed_issue', publication_id, title, field: field.name },
        ...fault,
        variant_count: 0,
        variant_ids: [],
      };
      if (variant_id) issue.variant_count++;
      if (variant_id && issue.variant_ids.length < VARIANTS_NAMED_MAX) issue.variant_ids.push(variant_id);
      issues.set(id, issue);
    }
  };
  collect(product_fields, product);
  for (const offer of product.offers) collect(fields, offer, offer.variant?.id);
  return [...issues.values()];
}

export const placeText = (place: Place): string => Buffer.from(place.join(' ')).toString('base64url');

/** Throws `invalid_query` if the text is not what `placeText` returns. */
export function parsePlace(text: string): Place {
  const [created_at = '', id = '', ...more] = Buffer.from(text, 'base64url').toString().split(' ');
  if (id !== '' && more.length === 0 && !Number.isNaN(Date.parse(created_at))) return [created_at, id];
  throw CatalogError.ofFaults([
    { condition: 'invalid_query', field: 'cursor', constraint: 'the next_cursor of an answer' },
  ]);
}
