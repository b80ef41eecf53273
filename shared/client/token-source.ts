import type { Token } from '../api/responses/service';
import { type Clock, unlessAborted } from './clock';

interface Held {
  readonly token: string;
  readonly expires_at_ms: number;
  /** From then on it is renewed: while it still holds, but might not when it arrives. */
  readonly renew_at_ms: number;
}

/** A tenth of a token's life, and at most this, is kept as a margin. */
const MARGIN_MAX_MS = 30_000;

/** The client's token: got when first needed, renewed before it expires, once for all calls that wait for it. */
export class TokenSource {
  private held: Held | undefined;
  private renewal: Promise<Held> | undefined;

  constructor(
    private readonly issue: () => Promise<Token>,
    private readonly clock: Clock,
  ) {}

  /** A token that holds. An abort ends the waiting; the renewal goes on for those who wait besides. */
  async token(signal?: AbortSignal): Promise<string> {
    const { held } = this;
    if (held && this.clock.now() < held.renew_at_ms) return held.token;
    try {
      return (await unlessAborted(this.renew(), signal)).token;
    } catch (error) {
      signal?.throwIfAborted();
      // A service that gives no tokens just now may still take those it has given.
      if (held && held === this.held && this.clock.now() < held.expires_at_ms) return held.token;
      throw error;
    }
  }

  /** The service did not take it; where it is another by now, that one is kept. */
  drop(token: string): void {
    if (this.held?.token === token) this.held = undefined;
  }

  private renew(): Promise<Held> {
    this.renewal ??= this.replace().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private async replace(): Promise<Held> {
    const asked_at_ms = this.clock.now();
    const { token, expires_in } = await this.issue();
    const life_ms = expires_in * 1_000;
    const expires_at_ms = asked_at_ms + life_ms;
    const margin_ms = Math.min(life_ms / 10, MARGIN_MAX_MS);
    this.held = { token, expires_at_ms, renew_at_ms: expires_at_ms - margin_ms };
    return this.held;
  }
}
