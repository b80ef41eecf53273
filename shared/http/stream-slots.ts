import type { ServerResponse } from 'node:http';
import { CatalogError } from '../kernel/errors';

/** When a refused client may try again. */
const RETRY_AFTER_S = 5;
/** If a client reads nothing for this time, its answer may be cut. */
const UNREAD_MS_MAX = 2_000;

interface Limits {
  /** Names the answers in the error. */
  readonly what: string;
  readonly per_key: number;
  readonly in_all: number;
}

interface Running {
  readonly api_key_id: string;
  /** Since when the client has not taken the next piece, by `performance.now()`. Undefined while the piece is made. */
  waits_since_ms: number | undefined;
}

/**
 * Limits how many answers of a route this process makes at the same time, because each has pages of documents in memory
 * until its client has read them.
 */
export class StreamSlots {
  private readonly limits: Limits;
  private readonly running = new Map<ServerResponse, Running>();

  constructor(limits: Limits) {
    this.limits = limits;
  }

  /**
   * Takes a slot until the response closes. If none is free, cuts the answer whose client has not read for the longest time,
   * at least `UNREAD_MS_MAX`. Throws `rate_limited` if all clients read. Returns a function that passes on the bytes of the
   * answer, and notes whether the client takes them.
   */
  take(
    response: ServerResponse,
    api_key_id: string,
  ): (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> {
    const { what, per_key, in_all } = this.limits;
    const all = [...this.running];
    const own = all.filter(([, each]) => each.api_key_id === api_key_id);
    if (own.length >= per_key)
      this.cutUnread(own, `At most ${per_key} ${what} of a key run at the same time`);
    else if (all.length >= in_all) this.cutUnread(all, `At most ${in_all} ${what} run at the same time`);
    const slot: Running = { api_key_id, waits_since_ms: undefined };
    // `close` is not emitted again for a client that has left.
    if (!response.closed) {
      this.running.set(response, slot);
      response.once('close', () => this.running.delete(response));
    }
    return (bytes) => this.noted(bytes, slot);
  }

  private cutUnread(candidates: readonly (readonly [ServerResponse, Running])[], message: string): void {
    const latest_ms = performance.now() - UNREAD_MS_MAX;
    const sinceOf = ({ waits_since_ms = Number.POSITIVE_INFINITY }: Running): number => waits_since_ms;
    const [slowest, slot] = candidates.reduce((a, b) => (sinceOf(b[1]) < sinceOf(a[1]) ? b : a));
    if (sinceOf(slot) > latest_ms)
      throw new CatalogError('rate_limited', { message, retry_after_s: RETRY_AFTER_S });
    this.running.delete(slowest);
    slowest.destroy();
  }

  private async *noted(bytes: AsyncIterable<Uint8Array>, slot: Running): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      slot.waits_since_ms = performance.now();
      yield piece;
      slot.waits_since_ms = undefined;
    }
  }
}
