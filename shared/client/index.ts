export type { PageMeta, ReviewsMeta } from '../api/responses/envelopes';
export type { ErrorCode, ErrorDetails } from '../api/responses/errors';
export type {
  Listing,
  ListingPublications,
  Media,
  PaymentMethod,
  Publication,
  Review,
  Store,
} from '../api/responses/resources';
export type { AnswerInfo } from './answer-info';
export { CatalogClient } from './client';
export type { Clock } from './clock';
export type { AnswerOf, BodyOf, DataOf, Expanded, OperationId, QueryOf, ReadId } from './endpoints';
export { CatalogApiError, CatalogConnectionError } from './errors';
export type { UploadFields } from './media';

export type { CallOptions, ClientOptions, ListOptions, ReadOptions, WriteOptions } from './options';
export type { Pages } from './pages';
