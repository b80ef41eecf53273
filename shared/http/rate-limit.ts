import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import * as ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';
import type { TierName } from '../api/error-catalogue';
import type { KeyLimits } from '../catalog/api-key/api-key';
import type { KeyType } from '../catalog/vocabulary';
import { allEnded } from '../kernel/async';
import { type Config, ConfigError } from '../kernel/config';
import { CatalogError } from '../kernel/errors';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type { RateLimiter, Tier, Verdict } from '../ports/rate-limiter';
import type { HttpMetrics } from './metrics';
import type { Exchange } from './request';

const WARN_EVERY_MS = 10_000;

/** Identity of the API key that a request counts against. */
export interface KeyIdentity {
  readonly api_key_id: string;
  readonly key_type: KeyType;
  /** The key's own limits. Absent: the limits of its type. `unknown`: the key's state cannot be read. */
  readonly limits?: KeyLimits | 'unknown';
}

export interface LimitsOptions {
  readonly config: Config;
  readonly limiter: RateLimiter;
  /** Limiter of this process, used if `limiter` fails. If it is undefined, requests are not limited in this case. */
  readonly fallback_limiter?: RateLimiter | undefined;
  readonly system: System;
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
}

type Area = 'api' | 'auth' | 'options';

/** What a request counts against. */
interface Bucket {
  readonly subject: string;
  readonly tier: Tier;
  readonly name: TierName;
}

/**
 * Applies the rate limits (docs/interface/access.md#rate-limits). A method takes a token from a bucket, sets the
 * rate-limit headers, and rejects with `rate_limited` if the bucket is empty. A failure of the limiter never fails
 * the request.
 */
export class Limits {
  private readonly options: LimitsOptions;
  private readonly addressOf: (req: IncomingMessage) => string;
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

  /**
   * Limits `/api/*` by key, with the key's own limits or the limits of its type. A request without a valid key is limited by
   * IP address, with the limit of a public key.
   *
   * While the limits of a key are unknown, because its state cannot be read, its requests have a bucket of their own, with
   * the rate of its type and without a daily limit, which would refuse the key until midnight.
   */
  admitApi(exchange: Exchange, key: KeyIdentity | undefined): Promise<void> {
    const bucket = key === undefined ? this.bucketOfAddress(exchange) : this.bucketOf(key);
    return this.admit(exchange, 'api', bucket);
  }

  private bucketOfAddress({ req }: Exchange, kind = ''): Bucket {
    return { subject: `${kind}ip:${this.addressOf(req)}`, tier: this.api.public, name: 'public_key' };
  }

  private bucketOf({ api_key_id, key_type, limits }: KeyIdentity): Bucket {
    const subject = `key:${api_key_id}`;
    const name = `${key_type}_key` as const;
    const tier = this.api[key_type];
    if (limits !== 'unknown') return { subject, tier: limits ? apiTier(limits) : tier, name };
    return { subject: `${subject}:limits-unknown`, tier: { ...tier, per_day: null }, name };
  }

  /**
   * Takes a token for each item of a batch but the first, for which `admitApi` has taken one. Takes none and rejects if there
   * are too few. A batch that is larger than the bucket needs a full one.
   */
  async admitItems(exchange: Exchange, key: KeyIdentity, count: number): Promise<void> {
    const bucket = this.bucketOf(key);
    const { tier } = bucket;
    const full = Math.min(tier.burst, tier.limit, tier.per_day ?? tier.limit);
    const needed = Math.min(count, full) - 1;
    const remaining = Number(exchange.headers['X-RateLimit-Remaining']);
    // Only the limiter decides about a single token: server-sent events take one long after the headers were set.
    const missing = needed > 1 ? needed - remaining : 0;
    if (missing > 0) this.refuse(exchange, 'api', Math.ceil(missing / tier.refill_per_s));
    const take = () => this.admit(exchange, 'api', bucket);
    await allEnded(Array.from({ length: needed }, take));
  }

  /** Limits `/auth/*` by endpoint and key, or by endpoint and IP address if the request has no valid key. */
  admitAuth(exchange: Exchange, endpoint: string, key: KeyIdentity | undefined): Promise<void> {
    const client = key === undefined ? `ip:${this.addressOf(exchange.req)}` : key.api_key_id;
    const subject = `auth:${endpoint}:${client}`;
    return this.admit(exchange, 'auth', {
      subject,
      tier: this.auth,
      name: `${key?.key_type ?? 'public'}_key`,
    });
  }

  /**
   * Limits OPTIONS by IP address, because OPTIONS has no token. The bucket is separate, so that a browser can still send
   * preflights when its other requests get 429.
   */
  admitOptions(exchange: Exchange): Promise<void> {
    return this.admit(exchange, 'options', this.bucketOfAddress(exchange, 'options:'));
  }

  /**
   * Counts an attempt to sign in on the pages of this name, by the address of the visitor. It has the limit of an endpoint
   * of `/auth/*`.
   */
  async takeSignIn(req: IncomingMessage, pages: 'console' | 'operator'): Promise<Verdict> {
    const verdict = await this.take(`auth:${pages}:ip:${this.addressOf(req)}`, this.auth);
    if (!verdict.allowed) this.options.metrics?.limiterRefused({ area: 'auth', tier: 'public_key' });
    return verdict;
  }

  /** Counts a read that needs no key, by the address of the visitor, with the limit of a public key. */
  async takeRead(req: IncomingMessage): Promise<Verdict> {
    const verdict = await this.take(`read:ip:${this.addressOf(req)}`, this.api.public);
    if (!verdict.allowed) this.options.metrics?.limiterRefused({ area: 'api', tier: 'public_key' });
    return verdict;
  }

  /** Counts a request outside of `/api` against the limit of a key. */
  async takeKey(key: KeyIdentity): Promise<Verdict> {
    const { subject, tier, name } = this.bucketOf(key);
    const verdict = await this.take(subject, tier);
    if (!verdict.allowed) this.options.metrics?.limiterRefused({ area: 'api', tier: name });
    return verdict;
  }

  private async admit(exchange: Exchange, area: Area, { subject, tier, name }: Bucket): Promise<void> {
    const { allowed, limit, remaining, reset_s, retry_after_s } = await this.take(subject, tier);
    const { headers } = exchange;
    exchange.tier = name;
    headers['X-RateLimit-Limit'] = String(limit);
    headers['X-RateLimit-Remaining'] = String(remaining);
    headers['X-RateLimit-Reset'] = String(reset_s);
    headers['X-RateLimit-Tier'] = name;
    if (!allowed) this.refuse(exchange, area, retry_after_s);
  }

  private refuse(exchange: Exchange, area: Area, retry_after_s: number): never {
    this.options.metrics?.limiterRefused({ area, tier: exchange.tier! });
    throw new CatalogError('rate_limited', { retry_after_s });
  }

  private async take(subject: string, tier: Tier): Promise<Verdict> {
    const now_ms = this.options.system.now();
    try {
      return await this.options.limiter.take(subject, tier);
    } catch (error) {
      this.reportFallback(error, now_ms);
    }
    const allowed = { allowed: true, limit: tier.limit, remaining: tier.limit, retry_after_s: 0 };
    const unlimited: Verdict = { ...allowed, reset_s: Math.ceil(now_ms / 1000) };
    return this.options.fallback_limiter?.take(subject, tier).catch(() => unlimited) ?? unlimited;
  }

  private reportFallback(error: unknown, now_ms: number): void {
    this.options.metrics?.limiterFellBack();
    if (now_ms - this.warned_at_ms < WARN_EVERY_MS) return;
    this.warned_at_ms = now_ms;
    this.options.log.warn({ err: error }, 'shared rate limiter failed; using the limiter of this process');
  }
}

function apiTier({ per_minute, per_day, burst }: KeyLimits): Tier {
  return { burst, refill_per_s: per_minute / 60, limit: per_minute, per_day };
}

/**
 * Creates a function that returns the address by which a client is limited: its IPv4 address, or the /64 network of its
 * IPv6 address, because a provider assigns a /64 to one customer. `X-Forwarded-For` is trusted as far as
 * `TRUST_PROXY` says: a number of hops, or addresses such as `loopback` or `10.0.0.0/8`, separated by commas. Throws
 * `ConfigError` if it is neither.
 */
export function clientAddress(trust_proxy: string): (req: IncomingMessage) => string {
  const trust = parseTrust(trust_proxy.trim());
  return (req) => {
    // Undefined, against its type, if the client has left.
    const address: string | undefined = proxyAddr(req, trust);
    return networkOf(address ?? '') ?? networkOf(req.socket.remoteAddress ?? '') ?? 'unknown';
  };
}

function parseTrust(setting: string): (address: string, hop: number) => boolean {
  if (setting === '') return () => false;
  if (/^\d+$/.test(setting)) return (_address, hop) => hop < Number(setting);
  return parseAddresses('TRUST_PROXY', setting, 'a number of hops or a list of addresses');
}

/** Returns a function that tells whether an address is in a list, separated by commas. Throws `ConfigError`. */
export function parseAddresses(
  name: string,
  setting: string,
  expected: string,
): (address: string) => boolean {
  try {
    const isListed = proxyAddr.compile(setting.split(',').map((address) => address.trim()));
    return (address) => isListed(address, 0);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`Invalid ${name}: expected ${expected} (${reason}).`);
  }
}

/** Returns the address or /64 network. Undefined if the text is not an address: a client may forward anything. */
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
