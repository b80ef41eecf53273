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
 * Method and path of each operation. They repeat `shared/api/operations`. If the client imported the operations instead,
 * browsers would load the schemas and zod, too. Because of the type `Endpoints`, a missing or different entry does not
 * compile.
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

/** The body of an operation's successful response, such as `{ code, status, data, meta }`. */
export type AnswerOf<Id extends OperationId> = z.output<Operations[Id]['answer']>;
/** The `data` of that body. */
export type DataOf<Id extends OperationId> = AnswerOf<Id>['data'];

/** The JSON body that an operation accepts. */
export type BodyOf<Id extends OperationId> = Operations[Id] extends {
  readonly schema: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : never;

/** The query parameters of a read, as numbers, booleans and lists. The client encodes them into the URL. */
export type QueryOf<Id extends ReadId> = Readonly<
  Partial<Omit<z.output<Reads[Id]['query']>, 'expand'>> & { expand?: readonly Expandable[] }
>;

/** `QueryOf` with the values of `expand` as a type parameter, from which `Expanded` derives the result's type. */
export type Expanding<Id extends ReadId, Values extends Expandable> = Omit<QueryOf<Id>, 'expand'> & {
  readonly expand?: readonly Values[];
};

/**
 * For each resource and each value of `expand`: the field that the service then always sends. `listing` of a publication is
 * not included, because the service omits the field if the publication has no listing or the listing is hidden.
 */
interface ExpandedFields {
  readonly store: { readonly listing: 'listings'; readonly media: 'media' };
  readonly listing: { readonly publication: 'publications'; readonly media: 'media' };
  readonly publication: { readonly media: 'media' };
}

type FieldsOf<Resource extends { readonly object: keyof ExpandedFields }> =
  ExpandedFields[Resource['object']];

/** A resource with its expanded collections as required fields, so that callers do not have to check for undefined. */
export type Expanded<
  Resource extends { readonly object: keyof ExpandedFields },
  Values extends Expandable,
> = Resource & {
  [Field in FieldsOf<Resource>[Values & keyof FieldsOf<Resource>] & keyof Resource]-?: NonNullable<
    Resource[Field]
  >;
};
