import type { endpoints, Operations, ReadQuery } from './api.js';
import type { Pages } from './pages.js';

export type OperationId = keyof Operations;
/** The operations whose answer has the envelope `{ code, status, data }`. */
export type EnvelopeId = {
  [Id in OperationId]: Operations[Id]['answer'] extends { data: unknown } ? Id : never;
}[OperationId];
/** The operations that only read. */
export type ReadId = {
  [Id in EnvelopeId]: (typeof endpoints)[Id][0] extends 'GET' ? Id : never;
}[EnvelopeId];

/** The body of an operation's successful response, such as `{ code, status, data, meta }`. */
export type AnswerOf<Id extends OperationId> = Operations[Id]['answer'];
/** The `data` of that body. */
export type DataOf<Id extends EnvelopeId> = AnswerOf<Id>['data'];

/** The JSON body that an operation accepts. */
export type BodyOf<Id extends OperationId> = Operations[Id] extends { body: infer Body } ? Body : never;

/** The query parameters of a read, as numbers, booleans and lists. The client encodes them into the URL. */
export type QueryOf<Id extends ReadId> = Readonly<Operations[Id]['query']>;

/** The values of `expand`. */
export type Expandable = NonNullable<ReadQuery['expand']>[number];

/** `QueryOf` with the values of `expand` as a type parameter, from which `Expanded` derives the result's type. */
export type Expanding<Id extends ReadId, Values extends Expandable> = Omit<QueryOf<Id>, 'expand'> & {
  readonly expand?: readonly Values[] | undefined;
};

/**
 * For each resource and each value of `expand`: the field that the service then always sends. `listing` of a publication is
 * not included, because the service omits the field if the publication has no listing or the listing is hidden.
 */
interface ExpandedFields {
  readonly store: { readonly listing: 'listings'; readonly media: 'media' };
  readonly listing: { readonly publication: 'publications'; readonly media: 'media' };
  readonly publication: { readonly media: 'media'; readonly variants: 'variants' };
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

/** The operations whose `data` is a list of resources that can be expanded. */
export type ListId = {
  [Id in ReadId]: DataOf<Id> extends readonly { readonly object: keyof ExpandedFields }[] ? Id : never;
}[ReadId];

/** A page of a list whose items are `Expanded`. */
export type ExpandedPage<Id extends ListId, Values extends Expandable> = Omit<AnswerOf<Id>, 'data'> & {
  readonly data: Expanded<DataOf<Id>[number], Values>[];
};

/** A list whose items are `Expanded`. */
export type ExpandedList<Id extends ListId, Values extends Expandable> = Pages<
  Expanded<DataOf<Id>[number], Values>,
  ExpandedPage<Id, Values>
>;
