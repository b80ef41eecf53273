import type { Position, StreamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';

/** The checkpoint or a document was not as it was read: another one works on the lane. Do it again from fresh reads. */
export class LostRaceError extends Error {
  override readonly name = 'LostRaceError';
}

/** An event that cannot be projected: it parks its stream in a live version and ends a rebuild. */
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

/** Another process holds the lease of what was asked for. */
export class RunningAlreadyError extends Error {
  override readonly name = 'RunningAlreadyError';

  /** `ttl_ms`: for how long the lease of a process that was killed still holds, where the store cannot tell. */
  constructor(what: string, ttl_ms: number) {
    super(`${what} is running already; if it was killed, its claim ends by itself within ${ttl_ms / 1000} s`);
  }
}

/** One line for an operator; a failure without words of its own is told by its condition and what caused it. */
export function reasonOf(error: unknown): string {
  return textOf(error).replace(/\s+/g, ' ').slice(0, 500);
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  const what = error instanceof CatalogError ? error.condition : error.name;
  return error.cause === undefined ? what : `${what}: ${textOf(error.cause)}`;
}
