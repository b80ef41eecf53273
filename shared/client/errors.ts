import type { ErrorBody, ErrorCode, ErrorDetails } from '../api/responses/errors';

/**
 * The service refused. Which code means what: `docs/errors.md`.
 *
 * @example
 * try {
 *   await client.publications.get(id);
 * } catch (error) {
 *   if (error instanceof CatalogApiError && error.code === 'PUBLICATION_NOT_FOUND') return undefined;
 *   throw error;
 * }
 */
export class CatalogApiError extends Error {
  override readonly name = 'CatalogApiError';
  /** The HTTP status. */
  readonly status: number;
  /** `error.code` of the answer; undefined for `/auth/*` and for what a gateway answered, which have none. */
  readonly code: ErrorCode | undefined;
  /** Which fields or parameters are at fault: the first one, and all in `errors`. */
  readonly details: ErrorDetails | undefined;
  /** `X-Request-Id`: what the service's log knows the request by. */
  readonly requestId: string | undefined;

  constructor(status: number, headers: Headers, body: unknown) {
    const { message, error } = isErrorBody(body) ? body : {};
    super(error?.message ?? message ?? `The service answered ${status}`);
    this.status = status;
    this.code = error?.code;
    this.details = error?.details;
    this.requestId = headers.get('x-request-id') ?? undefined;
  }
}

/** No answer came, or none that is the service's: the connection failed, was cut, or took too long. See `cause`. */
export class CatalogConnectionError extends Error {
  override readonly name = 'CatalogConnectionError';
}

function isErrorBody(body: unknown): body is Partial<ErrorBody> {
  return typeof body === 'object' && body !== null && 'status' in body && body.status === 'error';
}
