import type { Redis } from 'ioredis';
import { CatalogError } from '../../kernel/errors';
import { outageMessage } from '../../kernel/outages';
import type { StoreHealth } from '../../ports/event-store';
import type {
  Claim,
  Claimed,
  IdempotencyStore,
  OperationKey,
  RenderedAnswer,
} from '../../ports/idempotency-store';
import { CAUSES } from '../outage-cause';
import { BYTES_PER_RECORD, decodeAnswer, encodeAnswer } from '../stored-answer';
import { openWithScripts, type RedisStoreOptions, TIMED_OUT, toUnavailable } from './connection';

const COMMAND_MS = 1_500;
/**
 * Redis deletes a record this long after `expires_at_ms`. Reason: the script decides by the caller's clock whether a
 * record has expired. If that clock is behind the clock of Redis, the record must still exist.
 */
const EXTRA_TTL_MS = 3_600_000;
const CHECK_TTL_MS = 60_000;
/** The only `maxmemory-policy` with which Redis never deletes jobs, limits and records. */
const KEEPS_ALL = 'noeviction';
/** Errors of a Redis that answers but does not write: no memory, a failed save to its disk, or a replica. */
const NOT_WRITABLE = /^(OOM|MISCONF|READONLY) /;

/**
 * Claims an operation, or returns its state, in one atomic step.
 *
 * KEYS: the operation; the sorted set of the API key's operations, by the time at which they expire. ARGV: fingerprint,
 * holder, now, locked until, expires at (Unix milliseconds), how long Redis keeps the record (milliseconds), the most
 * records of the API key, the member of the sorted set. Returns `{outcome, …}` with the outcomes of `Claimed` in
 * shared/ports/idempotency-store.ts. An empty `holder` means that no request has the lock. `started_at_ms` keeps its value
 * when another holder resumes the operation. HSET is the first write, because Redis checks only the first write of a script
 * against its limit of memory.
 */
const CLAIM = `
local fingerprint, holder, now_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local stored = redis.call('HMGET', KEYS[1],
  'fingerprint', 'started_at_ms', 'holder', 'locked_until_ms', 'expires_at_ms', 'response')
local started_at_ms, outcome = ARGV[3], 'first'
if stored[1] and tonumber(stored[5]) > now_ms then
  if stored[1] ~= fingerprint then return {'other_request', '', ''} end
  if stored[6] then return {'answered', stored[6], ''} end
  if stored[3] ~= '' and tonumber(stored[4]) > now_ms then return {'locked', '', ''} end
  started_at_ms, outcome = stored[2], 'resumed'
else
  -- There is room for a further record when this one has expired. The sorted set may still contain expired records.
  local index = '-' .. ARGV[7]
  local last_to_expire = redis.call('ZRANGE', KEYS[2], index, index, 'WITHSCORES')
  if last_to_expire[2] and tonumber(last_to_expire[2]) > now_ms then
    return {'quota_reached', last_to_expire[2], ''}
  end
end
redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'started_at_ms', started_at_ms,
  'holder', holder, 'locked_until_ms', ARGV[4], 'expires_at_ms', ARGV[5])
redis.call('HDEL', KEYS[1], 'response')
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[8])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return {'claimed', started_at_ms, outcome}
`;

/**
 * Runs the command ARGV[5] with the arguments ARGV[6…] on the operation if ARGV[1] has its lock, and returns 1.
 * Otherwise does nothing, and returns 0. KEYS are the same as in `CLAIM`. ARGV[2] is the member of the sorted set,
 * ARGV[3] the time at which the operation expires, empty if it stays the same, and ARGV[4] how many records the
 * operation counts as: it then has so many members.
 */
const IF_HELD = `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call(ARGV[5], KEYS[1], unpack(ARGV, 6))
if ARGV[5] == 'DEL' then redis.call('ZREM', KEYS[2], ARGV[2])
elseif ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
  -- No Idempotency-Key contains a line break.
  for further = 2, tonumber(ARGV[4]) do redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2] .. '\\n' .. further) end
end
return 1
`;

/** Until when the sorted set contains an operation, and how many records it counts as. */
interface CountedUntil {
  readonly expires_at_ms: number | '';
  readonly records: number;
}
const UNCHANGED: CountedUntil = { expires_at_ms: '', records: 1 };

interface Scripts {
  claimOperation(...parameters: (string | number)[]): Promise<[string, string, string]>;
  ifHeld(...parameters: (string | number)[]): Promise<number>;
}

/**
 * Stores each operation as a Redis hash. Each call is one round trip. Durability depends on the configuration of Redis:
 * with `appendfsync everysec`, a crash of its machine may lose the claims of the last second.
 */
export class RedisIdempotencyStore implements IdempotencyStore {
  private constructor(
    private readonly connection: Redis & Scripts,
    private readonly prefix: string,
  ) {}

  static async open({ prefix = 'catalog', ...options }: RedisStoreOptions): Promise<RedisIdempotencyStore> {
    const connection = await openWithScripts<Scripts>(options, COMMAND_MS, {
      claimOperation: { numberOfKeys: 2, lua: CLAIM },
      ifHeld: { numberOfKeys: 2, lua: IF_HELD },
    });
    return new RedisIdempotencyStore(connection, prefix);
  }

  async claim(key: OperationKey, claim: Claim): Promise<Claimed> {
    const { fingerprint, holder, now_ms, locked_until_ms, expires_at_ms, records_max } = claim;
    const redis_ttl_ms = Math.ceil(expires_at_ms - now_ms) + EXTRA_TTL_MS;
    const times = [now_ms, locked_until_ms, expires_at_ms, redis_ttl_ms];
    const parameters = [fingerprint, holder, ...times, records_max, key.idempotency_key];
    const [outcome, first, second] = await this.call(() =>
      this.connection.claimOperation(...this.redisKeys(key), ...parameters),
    );
    switch (outcome) {
      case 'claimed':
        return { outcome, started_at_ms: Number(first), resumed: second === 'resumed' };
      case 'answered':
        return { outcome, answer: decodeAnswer(first) };
      case 'locked':
        return { outcome };
      case 'quota_reached':
        return { outcome, free_at_ms: Number(first) };
      default:
        return { outcome: 'other_request' };
    }
  }

  async renew(key: OperationKey, holder: string, locked_until_ms: number): Promise<boolean> {
    return this.change(key, holder, UNCHANGED, 'HSET', 'locked_until_ms', locked_until_ms);
  }

  async storeAnswer(
    key: OperationKey,
    holder: string,
    answer: RenderedAnswer,
    expires_at_ms: number,
  ): Promise<boolean> {
    const response = encodeAnswer(answer);
    const records = 1 + Math.floor(response.length / BYTES_PER_RECORD);
    const fields = ['response', response, 'expires_at_ms', expires_at_ms, 'holder', ''];
    return this.change(key, holder, { expires_at_ms, records }, 'HSET', ...fields);
  }

  async release(key: OperationKey, holder: string): Promise<boolean> {
    return this.change(key, holder, UNCHANGED, 'HSET', 'holder', '');
  }

  async discard(key: OperationKey, holder: string): Promise<boolean> {
    return this.change(key, holder, UNCHANGED, 'DEL');
  }

  /** Writes, because a Redis without memory or disk space still answers. */
  async check(): Promise<StoreHealth> {
    try {
      await this.connection.set(`${this.prefix}:operation-check`, '', 'PX', CHECK_TTL_MS);
      // A user may have no right to ask. Redis is fit for use all the same.
      const memory = await this.connection.info('memory').catch(() => '');
      const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? KEEPS_ALL;
      return policy === KEEPS_ALL ? 'ok' : 'may_evict';
    } catch (error) {
      if (error instanceof Error && NOT_WRITABLE.test(error.message)) return 'not_writable';
      throw toCatalogError(this.connection, error);
    }
  }

  async close(): Promise<void> {
    this.connection.disconnect();
  }

  private async change(
    key: OperationKey,
    holder: string,
    { expires_at_ms, records }: CountedUntil,
    command: 'HSET' | 'DEL',
    ...changes: (string | number)[]
  ): Promise<boolean> {
    const parameters = [holder, key.idempotency_key, expires_at_ms, records, command, ...changes];
    return (await this.call(() => this.connection.ifHeld(...this.redisKeys(key), ...parameters))) === 1;
  }

  /**
   * Returns the names of the operation and of the API key's sorted set. The first contains the length of the API key
   * id. Without it, two different pairs could give the same text if an id contains a colon.
   */
  private redisKeys({ api_key_id, idempotency_key }: OperationKey): [string, string] {
    return [
      `${this.prefix}:operation:${api_key_id.length}:${api_key_id}:${idempotency_key}`,
      `${this.prefix}:operations:${api_key_id}`,
    ];
  }

  private async call<Reply>(command: () => Promise<Reply>): Promise<Reply> {
    try {
      return await command();
    } catch (error) {
      throw toCatalogError(this.connection, error);
    }
  }
}

function toCatalogError(connection: Redis, error: unknown): CatalogError {
  if (error instanceof Error && error.message === TIMED_OUT)
    return new CatalogError('database_timeout', {
      message: outageMessage('redis', CAUSES.silent),
      cause: error,
    });
  return toUnavailable(connection, error);
}
