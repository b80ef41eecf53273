import type { Redis } from 'ioredis';
import { CatalogError } from '../../kernel/errors';
import type {
  Claim,
  Claimed,
  IdempotencyStore,
  KeptAnswer,
  OperationKey,
} from '../../ports/idempotency-store';
import { connectImpatient, unavailable, untilReady } from './connection';

const COMMAND_MS = 1_500;
const OPENING_MS = 1_000;
/** What has expired by the callers' clocks is unknown at once, and gone from Redis so much later. */
const KEPT_LONGER_MS = 3_600_000;

/**
 * Claims an operation, or tells what became of it, in one step.
 *
 * KEYS: the operation. ARGV: fingerprint, holder, now, locked until, expires at (Unix milliseconds), how long Redis
 * keeps it (milliseconds). Gives `{outcome, …}` as shared/ports/idempotency-store.ts names it. An empty `holder`
 * holds nothing; `started_at_ms` outlives every lock.
 */
const CLAIM = `
local fingerprint, holder, now_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local known = redis.call('HMGET', KEYS[1],
  'fingerprint', 'started_at_ms', 'holder', 'locked_until_ms', 'expires_at_ms', 'answer')
local started_at_ms, outcome = ARGV[3], 'first'
if known[1] and tonumber(known[5]) > now_ms then
  if known[1] ~= fingerprint then return {'other_request', '', ''} end
  if known[6] then return {'answered', known[6], ''} end
  if known[3] ~= '' and tonumber(known[4]) > now_ms then return {'locked', known[4], ''} end
  started_at_ms, outcome = known[2], 'resumed'
else
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'started_at_ms', started_at_ms,
  'holder', holder, 'locked_until_ms', ARGV[4], 'expires_at_ms', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return {'claimed', started_at_ms, outcome}
`;

/** Runs the command ARGV[2] with ARGV[3…] on the operation where ARGV[1] holds it, and else nothing. */
const IF_HELD = `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
return 1
`;

export interface RedisIdempotencyStoreOptions {
  /** `redis://…` or `rediss://…` */
  readonly url: string;
  /** Of the keys in Redis, `catalog` by default. */
  readonly prefix?: string;
}

interface WithScripts {
  claimOperation(key: string, ...parameters: (string | number)[]): Promise<[string, string, string]>;
  ifHeld(key: string, holder: string, command: string, ...changes: (string | number)[]): Promise<number>;
}

/**
 * Operations in Redis, each a hash, each call one round trip. As durable as Redis is set to be: with
 * `appendfsync everysec` a crash of its machine may forget the last second's claims.
 */
export class RedisIdempotencyStore implements IdempotencyStore {
  private readonly connection: Redis & WithScripts;
  private readonly prefix: string;

  private constructor({ url, prefix = 'catalog' }: RedisIdempotencyStoreOptions) {
    const connection = connectImpatient(url, COMMAND_MS);
    connection.defineCommand('claimOperation', { numberOfKeys: 1, lua: CLAIM });
    connection.defineCommand('ifHeld', { numberOfKeys: 1, lua: IF_HELD });
    this.connection = connection as Redis & WithScripts;
    this.prefix = prefix;
  }

  /** Needs no server to be there; where there is none it opens after a second. */
  static async open(options: RedisIdempotencyStoreOptions): Promise<RedisIdempotencyStore> {
    const store = new RedisIdempotencyStore(options);
    await untilReady(store.connection, OPENING_MS).catch(() => undefined);
    return store;
  }

  async claim(key: OperationKey, claim: Claim): Promise<Claimed> {
    const { fingerprint, holder, now_ms, locked_until_ms, expires_at_ms } = claim;
    const kept_ms = Math.ceil(expires_at_ms - now_ms) + KEPT_LONGER_MS;
    const [outcome, first, second] = await this.ask(() =>
      this.connection.claimOperation(
        this.nameOf(key),
        fingerprint,
        holder,
        now_ms,
        locked_until_ms,
        expires_at_ms,
        kept_ms,
      ),
    );
    switch (outcome) {
      case 'claimed':
        return { outcome, started_at_ms: Number(first), resumed: second === 'resumed' };
      case 'answered':
        return { outcome, answer: JSON.parse(first) as KeptAnswer };
      case 'locked':
        return { outcome, locked_until_ms: Number(first) };
      default:
        return { outcome: 'other_request' };
    }
  }

  async renew(key: OperationKey, holder: string, locked_until_ms: number): Promise<void> {
    await this.change(key, holder, 'HSET', 'locked_until_ms', locked_until_ms);
  }

  async keep(key: OperationKey, holder: string, answer: KeptAnswer, expires_at_ms: number): Promise<void> {
    const kept = ['answer', JSON.stringify(answer), 'expires_at_ms', expires_at_ms, 'holder', ''];
    await this.change(key, holder, 'HSET', ...kept);
  }

  async release(key: OperationKey, holder: string): Promise<void> {
    await this.change(key, holder, 'HSET', 'holder', '');
  }

  async forget(key: OperationKey, holder: string): Promise<void> {
    await this.change(key, holder, 'DEL');
  }

  async check(): Promise<void> {
    await this.ask(() => this.connection.ping());
  }

  async close(): Promise<void> {
    this.connection.disconnect();
  }

  private async change(
    key: OperationKey,
    holder: string,
    command: 'HSET' | 'DEL',
    ...changes: (string | number)[]
  ): Promise<void> {
    await this.ask(() => this.connection.ifHeld(this.nameOf(key), holder, command, ...changes));
  }

  /** The length keeps apart what would read alike. */
  private nameOf({ api_key_id, idempotency_key }: OperationKey): string {
    return `${this.prefix}:operation:${api_key_id.length}:${api_key_id}:${idempotency_key}`;
  }

  private async ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      if (error instanceof Error && error.message === 'Command timed out')
        throw new CatalogError('database_timeout', { cause: error });
      throw unavailable(error);
    }
  }
}
