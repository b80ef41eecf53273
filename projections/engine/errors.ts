import type { Position, StreamName } from '../../shared/catalog/events/envelope';
import { CatalogError, NeedsRepairError, UnstorableDocumentError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';

/**
 * Another worker has changed the partition since it was read. Retry from fresh reads.
 */
export class LostRaceError extends Error {
  override readonly name = 'LostRaceError';
}

/**
 * An event that cannot be projected (poison event). Workers do not throw this error: they move the stream of the event
 * to the dead-letter list. A rebuild with `on_poison: 'fail'` ends with it. See `docs/architecture.md#dead-letters`.
 */
export class PoisonError extends Error {
  override readonly name = 'PoisonError';
  readonly stream: StreamName;
  readonly position: Position;

  constructor(event: { readonly stream: StreamName; readonly position: Position }, cause: unknown) {
    super(`event at ${event.position} of ${event.stream}: ${reasonOf(cause)}`, { cause });
    this.stream = event.stream;
    this.position = event.position;
  }
}

/** A view or a relation has thrown. Folding is pure, so the same documents and events fail again. */
export class ViewError extends Error {
  override readonly name = 'ViewError';
}

/** Returns what `derive` returns. Throws `ViewError` if it throws. `derive` must be pure: without I/O. */
export function inView<Result>(derive: () => Result): Result {
  try {
    return derive();
  } catch (cause) {
    throw new ViewError(reasonOf(cause), { cause });
  }
}

/**
 * Returns whether an event is the reason for the failure of its batch: a view has thrown, or the store refuses a document
 * because of its content. Everything else, known or unknown, says nothing about the event. It may end by itself, so the
 * batch is retried for as long as it lasts.
 */
export function isCausedByEvent(error: unknown): error is ViewError | UnstorableDocumentError {
  return error instanceof ViewError || error instanceof UnstorableDocumentError;
}

/** Another process holds the lease of this operation. */
export class AlreadyRunningError extends Error {
  override readonly name = 'AlreadyRunningError';

  /** `ttl_ms`: time after which the lease of a killed process expires. */
  constructor(operation: string, ttl_ms: number) {
    super(
      `${operation} is already running. If its process was killed, its lease expires within ${ttl_ms / 1000} s; try again then.`,
    );
  }
}

/**
 * Logs a failure of background work that is retried. Uses level `debug` for data that an operator must repair: the
 * process logs them once, and retries do not repair them.
 */
export function logRetried(log: Logger, error: unknown, fields: object, message: string): void {
  const level = error instanceof NeedsRepairError ? 'debug' : 'warn';
  log[level]({ ...fields, reason: reasonOf(error) }, message);
}

/**
 * Returns the error as one line for an operator, at most 500 characters. If the error has no message, returns its
 * condition (or else its name), followed by its cause.
 */
export function reasonOf(error: unknown): string {
  return textOf(error).replace(/\s+/g, ' ').slice(0, 500);
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  const name = error instanceof CatalogError ? error.condition : error.name;
  return error.cause === undefined ? name : `${name}: ${textOf(error.cause)}`;
}

const OWN_FRAME = /(?:projections|services|shared)\/[\w./-]+:\d+/;

/**
 * Returns the name of the error that a view or a store has thrown, and the first place in this project's code that its
 * stack names, such as "TypeError at projections/views/publication.js:88".
 */
export function causeOf(error: unknown): string {
  if (error instanceof ViewError && error.cause !== undefined) return causeOf(error.cause);
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const own = frames.find((line) => OWN_FRAME.test(line) && !line.includes('node_modules'));
  return own ? `${error.name} at ${OWN_FRAME.exec(own)![0]}` : error.name;
}
