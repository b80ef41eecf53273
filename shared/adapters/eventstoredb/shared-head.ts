import type { Position } from '../../catalog/events/envelope';
import { withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';

/** The connection of a caller. */
interface Connection {
  readonly limits: { readonly call_ms: number };
  readonly closed: AbortSignal;
}

interface HeadRead {
  readonly connection: Connection;
  readonly position: Promise<Position>;
}

/** A read that fails at the end of its own time says why, so its callers wait a little longer than that. */
const GRACE_MS = 100;

/**
 * The head of one server's log. All realms and callers of this process share its reads, because EventStoreDB stalls for
 * seconds if a few of them run at once.
 *
 * One read runs at a time. Calls that arrive meanwhile wait for the next one, which all of them share. They cannot
 * use the running read: the server may have carried it out before it appended an event that was acknowledged before their
 * call. `max_age_ms` allows a caller to use the result of a read that began at most that long ago.
 */
export class SharedHead {
  /** All heads, by `call_ms` and address of the server. An entry is a few bytes, and a process uses one address. */
  private static readonly all = new Map<string, SharedHead>();
  private running: HeadRead | undefined;
  private next: HeadRead | undefined;
  private last: { readonly position: Position; readonly began_ms: number } | undefined;

  /** Returns the head of the server. Only callers with equal `call_ms` share it, because they wait equally long. */
  static of(url: string, call_ms: number): SharedHead {
    const key = `${call_ms} ${url}`;
    const head = SharedHead.all.get(key) ?? new SharedHead();
    SharedHead.all.set(key, head);
    return head;
  }

  /**
   * Returns what `readNow` reads over `connection`, or what another call has read. Rejects like
   * `EventStoreDbConnection.call`, within `call_ms` and `GRACE_MS`.
   */
  async share(
    connection: Connection,
    max_age_ms: number,
    readNow: () => Promise<Position>,
  ): Promise<Position> {
    const { limits, closed } = connection;
    for (;;) {
      const read = this.read(connection, max_age_ms, readNow);
      if (typeof read === 'bigint') return read;
      try {
        const timeout_ms = limits.call_ms + GRACE_MS;
        return await withTimeout(read.position, timeout_ms, () => refuse(connection), closed);
      } catch (error) {
        // The read ended because another caller has closed its connection.
        const is_of_closed = read.connection !== connection && read.connection.closed.aborted;
        if (!is_of_closed || closed.aborted) throw error;
      }
    }
  }

  private read(
    connection: Connection,
    max_age_ms: number,
    readNow: () => Promise<Position>,
  ): HeadRead | Position {
    if (this.last && performance.now() - this.last.began_ms < max_age_ms) return this.last.position;
    this.next ??= { connection, position: this.readAfter(this.running, readNow) };
    return this.next;
  }

  private async readAfter(before: HeadRead | undefined, readNow: () => Promise<Position>): Promise<Position> {
    const failure = await before?.position.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    this.running = this.next;
    this.next = undefined;
    try {
      // If the previous read failed because of the server, this one fails without a try, which would take as long again.
      if (failure && !before?.connection.closed.aborted) throw failure.error;
      const began_ms = performance.now();
      const position = await readNow();
      this.last = { position, began_ms };
      return position;
    } finally {
      this.running = undefined;
    }
  }
}

function refuse({ closed }: Connection): never {
  if (closed.aborted) throw new CatalogError('unavailable', { message: 'the event store is closed' });
  throw new CatalogError('database_timeout', { message: 'the head of the log could not be read in time' });
}
