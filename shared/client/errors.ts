import type { ErrorBody, Proposal } from './api.js';

/** All values of `error.code`. */
export type ErrorCode = ErrorBody['error']['code'];
export type ErrorDetails = NonNullable<ErrorBody['error']['details']>;

/**
 * The service rejected the request. `docs/errors.md` explains every `code`.
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
  /** A program may load the package by `import` and by `require`, and then has this class twice. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'CatalogApiError';
  }
  /** The HTTP status. */
  readonly status: number;
  /** `error.code` of the response body. Undefined for `/auth/*` and for responses of a gateway, which have no code. */
  readonly code: ErrorCode | undefined;
  /** The invalid field or parameter and its constraint: the first one, and all of them in `errors`. */
  readonly details: ErrorDetails | undefined;
  /** `X-Request-Id` of the response. The service's log lines for this request have the same id. */
  readonly requestId: string | undefined;

  constructor(status: number, headers: Headers, body: unknown) {
    const { message, error } = isErrorBody(body) ? body : {};
    super(error?.message ?? message ?? `The service responded with status ${status}`);
    this.status = status;
    this.code = error?.code;
    this.details = error?.details;
    this.requestId = headers.get('x-request-id') ?? undefined;
  }
}

/**
 * The client got no valid response: the connection failed or was closed, the request timed out, or the body was not
 * JSON. `cause` has the original error. For a write in a browser, the message explains CORS.
 */
export class CatalogConnectionError extends Error {
  override readonly name = 'CatalogConnectionError';
  /** As in `CatalogApiError`. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'CatalogConnectionError';
  }
}

/**
 * The client's key needs confirmation, so the service has stored the write as a proposal. A person confirms or rejects it, and
 * `client.proposals.get(proposal.id)` then has the result.
 */
export class CatalogProposedError extends Error {
  override readonly name = 'CatalogProposedError';
  /** As in `CatalogApiError`. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'CatalogProposedError';
  }
  readonly proposal: Proposal;

  constructor(proposal: Proposal) {
    super(`The write waits for confirmation: ${proposal.summary}`);
    this.proposal = proposal;
  }
}

function isErrorBody(body: unknown): body is Partial<ErrorBody> {
  return typeof body === 'object' && body !== null && 'status' in body && body.status === 'error';
}
