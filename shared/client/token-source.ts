import type { Token } from './api.js';
import { type Clock, unlessAborted } from './clock.js';

interface CachedToken {
  readonly token: string;
  readonly expires_at_ms: number;
  /** The client renews the token from this time on, so that it does not expire on its way to the service. */
  readonly renew_at_ms: number;
}

/** The client renews a token when a tenth of its lifetime is left, but at most this long before the token expires. */
const MARGIN_MAX_MS = 30_000;

/** Caches the client's token. Requests one when it is first needed, and renews it once for all concurrent calls. */
export class TokenSource {
  private cached: CachedToken | undefined;
  private renewal: Promise<CachedToken> | undefined;

  constructor(
    private readonly issue: () => Promise<Token>,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a token that has not expired. Rejects with the signal's reason when it is aborted; the renewal continues,
   * because other calls may wait for it.
   */
  async token(signal?: AbortSignal): Promise<string> {
    const { cached } = this;
    if (cached && this.clock.now() < cached.renew_at_ms) return cached.token;
    try {
      return (await unlessAborted(this.renew(), signal)).token;
    } catch (error) {
      signal?.throwIfAborted();
      // If the service cannot issue tokens at the moment, it may still accept the current one.
      if (cached && cached === this.cached && this.clock.now() < cached.expires_at_ms) return cached.token;
      throw error;
    }
  }

  /** Discards a token that the service rejected, unless another one has replaced it. */
  discard(token: string): void {
    if (this.cached?.token === token) this.cached = undefined;
  }

  private renew(): Promise<CachedToken> {
    this.renewal ??= this.requestToken().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private async requestToken(): Promise<CachedToken> {
    const requested_at_ms = this.clock.now();
    const { token, expires_in } = await this.issue();
    const lifetime_ms = expires_in * 1_000;
    const expires_at_ms = requested_at_ms + lifetime_ms;
    const margin_ms = Math.min(lifetime_ms / 10, MARGIN_MAX_MS);
    this.cached = { token, expires_at_ms, renew_at_ms: expires_at_ms - margin_ms };
    return this.cached;
  }
}
