import type { z } from 'zod';
import type { reads } from '../api/operations/reads';
import type { tokens } from '../api/operations/tokens';
import type { writes } from '../api/operations/writes';
import type { Expandable } from '../api/requests/reads';

type Reads = typeof reads;
type Writes = typeof writes;
type Operations = Reads & Writes & typeof tokens;

export type OperationId = keyof Operations;
export type ReadId = keyof Reads;

type Endpoints = {
  readonly [Id in OperationId]: readonly [Operations[Id]['method'], Operations[Id]['path']];
};

/**
 * Where each operation is. Written out, as the schemas of the operations are no part of what a browser loads; the
 * compiler holds it against them, so none can be missing or elsewhere.
 */
export const endpoints: Endpoints = {
  issueToken: ['POST', '/auth/token'],
  refreshToken: ['POST', '/auth/refresh'],
  validateToken: ['POST', '/auth/validate'],
  getStore: ['GET', '/api/store'],
  searchStore: ['GET', '/api/store/search'],
  listStoreListings: ['GET', '/api/store-listings'],
  listPaymentMethods: ['GET', '/api/payment-methods'],
  listListings: ['GET', '/api/listings'],
  getListing: ['GET', '/api/listing/:id'],
  listListingPublications: ['GET', '/api/listing/:id/publications'],
  listPublications: ['GET', '/api/publications'],
  getPublication: ['GET', '/api/publication/:id'],
  listRelatedPublications: ['GET', '/api/publication/:id/related'],
  listReviews: ['GET', '/api/publication/:id/reviews'],
  getMedia: ['GET', '/api/media/:id'],
  createListing: ['POST', '/api/listing'],
  updateListing: ['PATCH', '/api/listing/:id'],
  deleteListing: ['DELETE', '/api/listing/:id'],
  createPublication: ['POST', '/api/publication'],
  updatePublication: ['PATCH', '/api/publication/:id'],
  deletePublication: ['DELETE', '/api/publication/:id'],
  uploadMedia: ['POST', '/api/media'],
  deleteMedia: ['DELETE', '/api/media/:id'],
};

/** The whole body of the answer to an operation. */
export type AnswerOf<Id extends OperationId> = z.output<Operations[Id]['answer']>;
export type DataOf<Id extends OperationId> = AnswerOf<Id>['data'];

/** What may be sent as an operation's JSON body. */
export type BodyOf<Id extends OperationId> = Operations[Id] extends {
  readonly schema: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : never;

/** A read's parameters as values: numbers, booleans and lists, which the client writes into the address. */
export type QueryOf<Id extends ReadId> = Readonly<
  Partial<Omit<z.output<Reads[Id]['query']>, 'expand'>> & { expand?: readonly Expandable[] }
>;

/** The same, with the values of `expand` known to the compiler. */
export type Expanding<Id extends ReadId, Values extends Expandable> = Omit<QueryOf<Id>, 'expand'> & {
  readonly expand?: readonly Values[];
};

/** Which field each value of `expand` adds for sure; a publication's listing may be hidden, or none. */
interface ExpandedFields {
  readonly store: { readonly listing: 'listings'; readonly media: 'media' };
  readonly listing: { readonly publication: 'publications'; readonly media: 'media' };
  readonly publication: { readonly media: 'media' };
}

type FieldsOf<Resource extends { readonly object: keyof ExpandedFields }> =
  ExpandedFields[Resource['object']];

/** A resource whose expanded collections are there: nobody need ask whether they are. */
export type Expanded<
  Resource extends { readonly object: keyof ExpandedFields },
  Values extends Expandable,
> = Resource & {
  [Field in FieldsOf<Resource>[Values & keyof FieldsOf<Resource>] & keyof Resource]-?: NonNullable<
    Resource[Field]
  >;
};
