import type { Redis } from 'ioredis';
import { Batcher } from '../../kernel/async';
import type { RateLimiter, Take, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, takeToken } from '../token-bucket';
import { openWithScripts, type RedisStoreOptions, toUnavailable } from './connection';

/**
 * Default deadline of a command. It is the longest time by which the rate limiter delays a request: after it, the
 * caller counts the request in its own process.
 */
const COMMAND_MS = 250;

/**
 * Runs `takeToken` of shared/adapters/token-bucket.ts in Redis, once or several times for the same moment. The script
 * and `takeToken` do the same arithmetic in the same order, so that they compute the same state to the last bit. The
 * script returns the state before the call (empty if there was none) and the time, from which the caller computes the
 * verdicts. Numbers are written with 17 significant digits, which represents a double exactly.
 *
 * The time is the clock of Redis, so that processes whose clocks differ agree (shared/ports/rate-limiter.ts).
 *
 * KEYS: the bucket. ARGV: burst, refill per second, requests per day (empty: no limit), number of tokens requested,
 * Unix milliseconds to use instead of the time of Redis (empty: none).
 */
const TAKE_TOKEN = `
local DAY_MS, CLOCK_JITTER_MS, ROUNDING, EXTRA_TTL_MS = 86400000, 10000, 1e-9, 60000
local burst, refill_per_s = tonumber(ARGV[1]), tonumber(ARGV[2])
local per_day = ARGV[3] ~= '' and tonumber(ARGV[3]) or math.huge
local now_ms = tonumber(ARGV[5])
if not now_ms then
  local time = redis.call('TIME')
  now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local stored = redis.call('GET', KEYS[1])
local tokens, at_ms, day, day_count = burst, now_ms, math.floor(now_ms / DAY_MS), 0
local clock_was_set_back = false
if stored then
  local before = {}
  for number in string.gmatch(stored, '%S+') do before[#before + 1] = tonumber(number) end
  local is_out_of_order = now_ms < before[2] and before[2] - now_ms <= CLOCK_JITTER_MS
  if is_out_of_order then at_ms = before[2] end
  clock_was_set_back = at_ms < before[2]
  day = math.floor(at_ms / DAY_MS)
  if day <= before[3] then day_count = before[4] end
  local elapsed_s = math.max(0, at_ms - before[2]) / 1000
  tokens = math.min(burst, before[1] + elapsed_s * refill_per_s)
end

local allowed = false
for _ = 1, tonumber(ARGV[4]) do
  if tokens + ROUNDING < 1 or day_count >= per_day then break end
  allowed = true
  tokens = math.max(0, tokens - 1)
  day_count = day_count + 1
end
if allowed or clock_was_set_back or not stored then
  local full_ms = at_ms + math.max(0, burst - tokens) / refill_per_s * 1000
  local idle_from_ms = math.max(full_ms, (day + 1) * DAY_MS)
  local state = string.format('%.17g %.17g %.17g %.17g', tokens, at_ms, day, day_count)
  redis.call('SET', KEYS[1], state, 'PX', math.ceil(idle_from_ms - at_ms) + EXTRA_TTL_MS)
end
return {stored or '', string.format('%.17g', now_ms)}
`;

interface RedisRateLimiterOptions extends RedisStoreOptions {
  /** How long Redis may take to answer; 250 ms by default. */
  readonly command_ms?: number;
  /** Returns Unix milliseconds; the clock of Redis by default. Tests pass a clock that they can move. */
  readonly now?: () => number;
}

interface Scripts {
  takeToken(
    key: string,
    burst: number,
    refill_per_s: number,
    per_day: string,
    count: number,
    now_ms: string,
  ): Promise<[state: string, now_ms: string]>;
}

/** The most tokens that one run of the script takes. Redis executes nothing else while a script runs. */
const TAKES_MAX = 256;

/**
 * Stores token buckets in Redis, exact across all processes. Concurrent requests for the same bucket share one round
 * trip. `take` throws `CatalogError('unavailable')` at once if Redis cannot be reached, and after 250 ms if it does not
 * answer. The connection recovers on its own.
 */
export class RedisRateLimiter implements RateLimiter {
  private readonly batcher = new Batcher((takes: readonly Take[]) => this.takeTogether(takes), TAKES_MAX);

  private constructor(
    private readonly connection: Redis & Scripts,
    private readonly prefix: string,
    private readonly now: (() => number) | undefined,
  ) {}

  static async open({
    prefix = 'catalog',
    command_ms = COMMAND_MS,
    now,
    ...options
  }: RedisRateLimiterOptions): Promise<RedisRateLimiter> {
    const takeToken = { numberOfKeys: 1, lua: TAKE_TOKEN };
    const connection = await openWithScripts<Scripts>(options, command_ms, { takeToken });
    return new RedisRateLimiter(connection, prefix, now);
  }

  take(subject: string, tier: Tier): Promise<Verdict> {
    const { burst, refill_per_s, per_day, limit } = tier;
    const batch_key = [burst, refill_per_s, per_day, limit, subject].join(' ');
    return this.batcher.load(batch_key, { subject, tier });
  }

  /**
   * Takes several tokens of one bucket at the same moment. Gives the same verdicts as separate calls one after the
   * other.
   */
  private async takeTogether(takes: readonly Take[]): Promise<Verdict[]> {
    const [{ subject, tier }] = takes as [Take, ...Take[]];
    const { burst, refill_per_s, per_day } = tier;
    const key = `${this.prefix}:limit:${subject}`;
    const day_limit = String(per_day ?? '');
    const own_now = String(this.now?.() ?? '');
    try {
      const { connection } = this;
      const reply = await connection.takeToken(key, burst, refill_per_s, day_limit, takes.length, own_now);
      const now_ms = Number(reply[1]);
      let state = parseState(reply[0]);
      return takes.map(() => {
        const taken = takeToken(state, tier, now_ms);
        state = taken.state;
        return taken.verdict;
      });
    } catch (error) {
      throw toUnavailable(this.connection, error);
    }
  }

  async close(): Promise<void> {
    this.connection.disconnect();
  }
}

/** Parses a stored state: four numbers, or an empty text if there is none. */
export function parseState(text: string): BucketState | undefined {
  if (text === '') return undefined;
  const [tokens, at_ms, day, day_count] = text.split(' ').map(Number) as [number, number, number, number];
  return { tokens, at_ms, day, day_count };
}
