export type { AnswerInfo } from './answer-info.js';
export type * from './api.js';
export { CatalogClient } from './client.js';
export type { Clock } from './clock.js';
export {
  CatalogApiError,
  CatalogConnectionError,
  CatalogProposedError,
  type ErrorCode,
  type ErrorDetails,
} from './errors.js';
export type { ImportFields } from './imports.js';
export type { UploadFields } from './media.js';
export type {
  AnswerOf,
  BodyOf,
  DataOf,
  Expandable,
  Expanded,
  OperationId,
  QueryOf,
  ReadId,
} from './operations.js';
export type {
  CallOptions,
  ClientOptions,
  FetchOptions,
  ListOptions,
  ReadOptions,
  WriteOptions,
} from './options.js';
export type { Pages } from './pages.js';
export type { ChangesOptions } from './stores.js';
