import type { Request, Response } from 'express';
import type { KeyType } from '../catalog/vocabulary';
import type { Config } from '../kernel/config';
import { CatalogError } from '../kernel/errors';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type { RateLimiter, Tier, Verdict } from '../ports/rate-limiter';
import { clientAddress } from './client-address';
import { contextOf } from './context';
import type { HttpMetrics } from './metrics';

const WARN_EVERY_MS = 10_000;

/** A key that a request has shown to be valid. */
export interface KnownKey {
  readonly api_key_id: string;
  readonly key_type: KeyType;
}

export interface LimitsOptions {
  readonly config: Config;
  readonly limiter: RateLimiter;
  /** Of this process alone, for when `limiter` cannot be asked. */
  readonly fallback_limiter?: RateLimiter | undefined;
  readonly system: System;
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
}

/**
 * The rate limits of decisions §8. Each method takes one token of the right bucket, puts the headers on the response
 * and throws `rate_limited` where the bucket is empty. A limiter that fails never fails the request.
 */
export class Limits {
  private readonly options: LimitsOptions;
  private readonly addressOf: (req: Request) => string;
  private readonly api: Readonly<Record<KeyType, Tier>>;
  private readonly auth: Tier;
  private warned_at_ms = Number.NEGATIVE_INFINITY;

  constructor(options: LimitsOptions) {
    const { config } = options;
    this.options = options;
    this.addressOf = clientAddress(config.TRUST_PROXY);
    this.api = { public: apiTier(config.RATE_LIMIT_PUBLIC), secret: apiTier(config.RATE_LIMIT_SECRET) };
    const { per_second, burst } = config.RATE_LIMIT_AUTH;
    this.auth = { burst, refill_per_s: per_second, limit: per_second, per_day: null };
  }

  /** `/api/*`: the key's bucket, or the address's at the public tier where no valid key stands behind the request. */
  async admitApi(req: Request, res: Response, key: KnownKey | undefined): Promise<void> {
    const type = key?.key_type ?? 'public';
    const subject = key === undefined ? `ip:${this.addressOf(req)}` : `key:${key.api_key_id}`;
    await this.admit(res, 'api', subject, this.api[type], type);
  }

  /** `/auth/*`: one bucket per endpoint and key, or address. */
  async admitAuth(req: Request, res: Response, endpoint: string, key: KnownKey | undefined): Promise<void> {
    const whose = key === undefined ? `ip:${this.addressOf(req)}` : key.api_key_id;
    await this.admit(res, 'auth', `auth:${endpoint}:${whose}`, this.auth, key?.key_type ?? 'public');
  }

  /** OPTIONS, which never carries a token, has a bucket apart: refused calls do not keep a browser from asking. */
  async admitOptions(req: Request, res: Response): Promise<void> {
    await this.admit(res, 'options', `options:ip:${this.addressOf(req)}`, this.api.public, 'public');
  }

  private async admit(
    res: Response,
    area: 'api' | 'auth' | 'options',
    subject: string,
    tier: Tier,
    type: KeyType,
  ): Promise<void> {
    const verdict = await this.take(subject, tier);
    contextOf(res).tier = `${type}_key`;
    res.setHeader('X-RateLimit-Limit', String(verdict.limit));
    res.setHeader('X-RateLimit-Remaining', String(verdict.remaining));
    res.setHeader('X-RateLimit-Reset', String(verdict.reset_s));
    res.setHeader('X-RateLimit-Tier', `${type}_key`);
    if (verdict.allowed) return;
    this.options.metrics?.limiterRefused({ area, tier: `${type}_key` });
    throw new CatalogError('rate_limited', { retry_after_s: verdict.retry_after_s });
  }

  private async take(subject: string, tier: Tier): Promise<Verdict> {
    const now_ms = this.options.system.now();
    try {
      return await this.options.limiter.take(subject, tier, now_ms);
    } catch (error) {
      this.reportFallback(error, now_ms);
    }
    const open = { allowed: true, limit: tier.limit, remaining: tier.limit, retry_after_s: 0 };
    const unlimited: Verdict = { ...open, reset_s: Math.ceil(now_ms / 1000) };
    return this.options.fallback_limiter?.take(subject, tier, now_ms).catch(() => unlimited) ?? unlimited;
  }

  private reportFallback(error: unknown, now_ms: number): void {
    this.options.metrics?.limiterFellBack();
    if (now_ms - this.warned_at_ms < WARN_EVERY_MS) return;
    this.warned_at_ms = now_ms;
    this.options.log.warn({ err: error }, 'rate limiter cannot be asked; this process limits on its own');
  }
}

function apiTier(setting: Config['RATE_LIMIT_PUBLIC']): Tier {
  const { per_minute, per_day, burst } = setting;
  return { burst, refill_per_s: per_minute / 60, limit: per_minute, per_day };
}
