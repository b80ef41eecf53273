import type { Redis } from 'ioredis';
import { Batcher } from '../../kernel/async';
import type { RateLimiter, Take, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, takeToken } from '../token-bucket';
import { connectImpatient, unavailable, untilReady } from './connection';

/** A limit is worth no more waiting than this: past it the caller counts on its own. */
const COMMAND_MS = 250;
const OPENING_MS = 1_000;

/**
 * `takeToken` of shared/adapters/token-bucket.ts as a script, once or several times at the same moment, with the same
 * arithmetic in the same order, so that both come to the same state to the last bit. It gives back the state as it was
 * (empty where there was none): the verdicts follow from that. A number is written with 17 digits, which is exact.
 *
 * KEYS: the bucket. ARGV: burst, refill per second, requests per day (empty: any number), now in Unix milliseconds,
 * how many tokens are asked for.
 */
const TAKE_TOKEN = `
local DAY_MS, CLOCK_JITTER_MS, ROUNDING, KEPT_LONGER_MS = 86400000, 10000, 1e-9, 60000
local burst, refill_per_s, now_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local per_day = ARGV[3] ~= '' and tonumber(ARGV[3]) or math.huge

local stored = redis.call('GET', KEYS[1])
local tokens, at_ms, day, day_count = burst, now_ms, math.floor(now_ms / DAY_MS), 0
local clock_was_set_back = false
if stored then
  local before = {}
  for number in string.gmatch(stored, '%S+') do before[#before + 1] = tonumber(number) end
  local overtaken = now_ms < before[2] and before[2] - now_ms <= CLOCK_JITTER_MS
  if overtaken then at_ms = before[2] end
  clock_was_set_back = at_ms < before[2]
  day = math.floor(at_ms / DAY_MS)
  if day <= before[3] then day_count = before[4] end
  local elapsed_s = math.max(0, at_ms - before[2]) / 1000
  tokens = math.min(burst, before[1] + elapsed_s * refill_per_s)
end

local allowed = false
for _ = 1, tonumber(ARGV[5]) do
  if tokens + ROUNDING < 1 or day_count >= per_day then break end
  allowed = true
  tokens = math.max(0, tokens - 1)
  day_count = day_count + 1
end
if allowed or clock_was_set_back or not stored then
  local full_ms = at_ms + math.max(0, burst - tokens) / refill_per_s * 1000
  local idle_from_ms = math.max(full_ms, (day + 1) * DAY_MS)
  local state = string.format('%.17g %.17g %.17g %.17g', tokens, at_ms, day, day_count)
  redis.call('SET', KEYS[1], state, 'PX', math.ceil(idle_from_ms - at_ms) + KEPT_LONGER_MS)
end
return stored or ''
`;

export interface RedisRateLimiterOptions {
  /** `redis://…` or `rediss://…` */
  readonly url: string;
  /** Of the keys in Redis, `catalog` by default. */
  readonly prefix?: string;
  /** How long Redis may take to answer, 250 ms by default. */
  readonly command_ms?: number;
}

interface WithScript {
  takeToken(
    key: string,
    burst: number,
    refill_per_s: number,
    per_day: string,
    now_ms: number,
    count: number,
  ): Promise<string>;
}

/** What one script run may be asked for: it holds up everything else in Redis. */
const TAKES_MAX = 256;

/**
 * Token buckets in Redis, exact across all processes, in one round trip, which requests that come at once from the
 * shoppers of one key share. `take` throws `CatalogError('unavailable')`
 * at once where Redis is gone and after a quarter of a second where it is silent; it is then tried again by itself.
 */
export class RedisRateLimiter implements RateLimiter {
  private readonly connection: Redis & WithScript;
  private readonly prefix: string;
  private readonly takes = new Batcher((takes: readonly Take[]) => this.takeTogether(takes), TAKES_MAX);

  private constructor({ url, prefix = 'catalog', command_ms = COMMAND_MS }: RedisRateLimiterOptions) {
    const connection = connectImpatient(url, command_ms);
    connection.defineCommand('takeToken', { numberOfKeys: 1, lua: TAKE_TOKEN });
    this.connection = connection as Redis & WithScript;
    this.prefix = prefix;
  }

  /** Needs no server to be there; where there is none it opens after a second. */
  static async open(options: RedisRateLimiterOptions): Promise<RedisRateLimiter> {
    const limiter = new RedisRateLimiter(options);
    await untilReady(limiter.connection, OPENING_MS).catch(() => undefined);
    return limiter;
  }

  take(subject: string, tier: Tier, now_ms: number): Promise<Verdict> {
    const { burst, refill_per_s, per_day, limit } = tier;
    const alike = [now_ms, burst, refill_per_s, per_day, limit, subject].join(' ');
    return this.takes.load(alike, { subject, tier, now_ms });
  }

  /** Tokens of one bucket at the same moment: one after the other, as if each had been asked for alone. */
  private async takeTogether(takes: readonly Take[]): Promise<Verdict[]> {
    const [{ subject, tier, now_ms }] = takes as [Take, ...Take[]];
    const { burst, refill_per_s, per_day } = tier;
    const key = `${this.prefix}:limit:${subject}`;
    const tokens_a_day = String(per_day ?? '');
    try {
      const { connection } = this;
      const before = await connection.takeToken(key, burst, refill_per_s, tokens_a_day, now_ms, takes.length);
      let state = parseState(before);
      return takes.map(() => {
        const taken = takeToken(state, tier, now_ms);
        state = taken.state;
        return taken.verdict;
      });
    } catch (error) {
      throw unavailable(error);
    }
  }

  async close(): Promise<void> {
    this.connection.disconnect();
  }
}

/** Of the script's form: four numbers, or nothing. */
export function parseState(text: string): BucketState | undefined {
  if (text === '') return undefined;
  const [tokens, at_ms, day, day_count] = text.split(' ').map(Number) as [number, number, number, number];
  return { tokens, at_ms, day, day_count };
}
