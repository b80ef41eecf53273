export type { AnswerInfo } from './answer-info';
export type * from './api';
export { CatalogClient } from './client';
export type { Clock } from './clock';
export {
  CatalogApiError,
  CatalogConnectionError,
  type ErrorCode,
  type ErrorDetails,
} from './errors';
export type { UploadFields } from './media';
export type {
  AnswerOf,
  BodyOf,
  DataOf,
  Expandable,
  Expanded,
  OperationId,
  QueryOf,
  ReadId,
} from './operations';
export type {
  CallOptions,
  ClientOptions,
  FetchOptions,
  ListOptions,
  ReadOptions,
  WriteOptions,
} from './options';
export type { Pages } from './pages';
