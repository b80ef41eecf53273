import type { Position, StreamName } from '../shared/contracts/envelope';

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

/** One line for an operator. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replace(/\s+/g, ' ').slice(0, 500);
}
