import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Request, Response } from 'express';
import * as ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';
import type { KeyType } from '../catalog/vocabulary';
import { type Config, ConfigError } from '../kernel/config';
import { CatalogError } from '../kernel/errors';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type { RateLimiter, Tier, Verdict } from '../ports/rate-limiter';
import type { HttpMetrics } from './metrics';
import { requestContext } from './request';

const WARN_EVERY_MS = 10_000;

/** A key that a request has shown to be valid. */
export interface KnownKey {
  readonly api_key_id: string;
  readonly key_type: KeyType;
}

export interface LimitsOptions {
  readonly config: Config;
  readonly limiter: RateLimiter;
  /** Counts in this process alone. Used when `limiter` fails; without it such requests pass unlimited. */
  readonly fallback_limiter?: RateLimiter | undefined;
  readonly system: System;
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
}

/**
 * The rate limits of decisions §8. Each method takes one token from the right bucket, sets the rate-limit headers and
 * throws `rate_limited` if the bucket is empty. A limiter that fails never fails the request.
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

  /** `/api/*`: takes from the key's bucket, or from the address's at the public tier if the request has no valid key. */
  async admitApi(req: Request, res: Response, key: KnownKey | undefined): Promise<void> {
    const type = key?.key_type ?? 'public';
    const subject = key === undefined ? `ip:${this.addressOf(req)}` : `key:${key.api_key_id}`;
    await this.admit(res, 'api', subject, this.api[type], type);
  }

  /** `/auth/*`: takes from a bucket per endpoint and key, or address. */
  async admitAuth(req: Request, res: Response, endpoint: string, key: KnownKey | undefined): Promise<void> {
    const whose = key === undefined ? `ip:${this.addressOf(req)}` : key.api_key_id;
    await this.admit(res, 'auth', `auth:${endpoint}:${whose}`, this.auth, key?.key_type ?? 'public');
  }

  /** OPTIONS never carries a token. It has a bucket of its own, so that refused calls do not block preflights. */
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
    requestContext(res).tier = `${type}_key`;
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

/**
 * Returns a function that names a client for its rate-limit bucket: by IPv4 address, or by the /64 of an IPv6 address,
 * which is what a provider gives one customer. `X-Forwarded-For` counts only as far as `TRUST_PROXY` goes: a number of
 * hops, or addresses (`loopback`, `10.0.0.0/8`, …) separated by commas. Throws `ConfigError` if it is neither.
 */
export function clientAddress(trust_proxy: string): (req: IncomingMessage) => string {
  const trust = parseTrust(trust_proxy.trim());
  return (req) => {
    const address = proxyAddr(req, trust);
    return networkOf(address) ?? networkOf(req.socket.remoteAddress ?? '') ?? 'unknown';
  };
}

function parseTrust(setting: string): (address: string, hop: number) => boolean {
  if (setting === '') return () => false;
  if (/^\d+$/.test(setting)) return (_address, hop) => hop < Number(setting);
  try {
    return proxyAddr.compile(setting.split(',').map((address) => address.trim()));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`configuration: TRUST_PROXY: a number of hops or addresses (${reason})`);
  }
}

/** Returns undefined for what is no address: a forwarded header may say anything. */
function networkOf(text: string): string | undefined {
  const address = text.replace(/%.*$/, '');
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
