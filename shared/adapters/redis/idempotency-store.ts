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
import { CLAIM, IF_HELD } from './operation-scripts';

const COMMAND_MS = 1_500;
const OPENING_MS = 1_000;
/** What has expired by the callers' clocks is unknown at once, and gone from Redis so much later. */
const KEPT_LONGER_MS = 3_600_000;

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
