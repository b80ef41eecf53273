import { Batcher } from '../../kernel/async';
import { LRUCache } from '../../kernel/cache';
import type { RateLimiter, Take, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, endOfDayOf, idleFromMs, putBack, takeAhead, takeToken } from '../token-bucket';
import type { SqliteConnection } from './connection';
import { type DisposableStoreOptions, nameOfFormat, openDisposable } from './disposable-file';

/** From `idle_from_ms` (Unix milliseconds) on, the row has the same effect as no row, so it can be deleted. */
const SCHEMA = `
  CREATE TABLE buckets (
    subject TEXT PRIMARY KEY,
    tokens REAL NOT NULL,
    at_ms INTEGER NOT NULL,
    day INTEGER NOT NULL,
    day_count INTEGER NOT NULL,
    idle_from_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX buckets_idle ON buckets (idle_from_ms)`;

const FORMAT = 1;
/** The name of the file in DATA_DIR. */
export const LIMITS_FILE = `${nameOfFormat('limits', FORMAT)}.sqlite`;
/** How long a request waits for locks of other processes. After this time, the caller uses the limiter of its process. */
const DEADLINE_MS = 100;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 1_000;

/** How long a process may use the tokens of a lease. Then it puts the unused tokens back. */
const LEASE_MS = 200;
const LEASE_TOKENS_MIN = 2;
const LEASE_TOKENS_MAX = 1_024;
/** A lease takes at most this part of the tokens of the bucket, and of the requests that are left of the day. */
const LEASE_SHARE = 1 / 8;
const SUBJECTS_MAX = 10_000;

/** After a damaged file was replaced by an empty one, all limits start full. */
interface SqliteRateLimiterOptions extends DisposableStoreOptions {
  /** Returns Unix milliseconds; the machine's clock by default. */
  readonly now?: () => number;
}

/** Tokens in memory, for requests of a subject that sends many. They are already taken from the stored bucket. */
interface Lease {
  readonly tier: Tier;
  readonly granted_ms: number;
  /** How many tokens the bucket lacked when the lease was granted. */
  readonly room: number;
  readonly expires_ms: number;
  readonly tokens: number;
  left: number;
  /** The bucket as if only the used tokens had been taken. */
  state: BucketState;
}

/** The result of a transaction. Memory changes only after the commit, because a transaction may run several times. */
interface Taken {
  readonly verdicts: Verdict[];
  readonly leases: ReadonlyMap<string, Lease>;
}

interface Bucket {
  readonly tier: Tier;
  readonly state: BucketState;
  readonly is_changed: boolean;
}

/**
 * Stores token buckets in a SQLite file. All processes that have it open together never allow more requests than a
 * bucket has tokens.
 *
 * A transaction per request would be a large part of the cost of a read. Therefore a subject that sends many requests gets
 * a lease: at most an eighth of the tokens of its bucket, for 200 ms, for this process alone. With the lease, the process takes
 * as many tokens as the bucket regains in this time (the reserve), and puts the reserve back in the end. Without the reserve,
 * the bucket would fill up in place of the lease. Until the tokens are used or put back, another process may refuse a request
 * for which the bucket would have had a token, and shows a lower `remaining`. A kill loses the tokens of the lease. A bucket
 * with fewer than 16 tokens gives no lease.
 */
export class SqliteRateLimiter implements RateLimiter {
  private readonly batcher = new Batcher((takes: readonly Take[]) => this.takeTogether(takes));
  private readonly leases = new Map<string, Lease>();
  /** When each subject last took tokens in a transaction, Unix milliseconds. */
  private readonly taken_ms = new LRUCache<string, number>({ max: SUBJECTS_MAX });
  private transactions = 0;
  private timer: NodeJS.Timeout | undefined;
  private swept_at_ms = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly buckets: SqliteConnection,
    private readonly now: () => number,
  ) {}

  static async open({
    file,
    now = Date.now,
    ...reports
  }: SqliteRateLimiterOptions): Promise<SqliteRateLimiter> {
    // NORMAL: a power failure may undo the latest counts, which is harmless, and never corrupts the file.
    const options = { synchronous: 'NORMAL', schema: () => SCHEMA, format: FORMAT, ...reports } as const;
    return new SqliteRateLimiter(await openDisposable(file, options), now);
  }

  async take(subject: string, tier: Tier): Promise<Verdict> {
    return this.takeFromLease(subject, tier) ?? this.batcher.load('', { subject, tier });
  }

  /** Takes a token of a lease without waiting. Returns undefined, and takes nothing, if there is none to use. */
  private takeFromLease(subject: string, tier: Tier): Verdict | undefined {
    const lease = this.leases.get(subject);
    if (lease === undefined || lease.left === 0) return undefined;
    const now_ms = this.now();
    if (!isInTime(lease, now_ms) || !isSameTier(lease.tier, tier)) return undefined;
    const { state, verdict } = takeToken(lease.state, lease.tier, now_ms);
    if (!verdict.allowed) return undefined;
    lease.state = state;
    lease.left--;
    return verdict;
  }

  /** Takes tokens for all requests of one turn of the event loop in one transaction, one after the other. */
  private async takeTogether(takes: readonly Take[]): Promise<Verdict[]> {
    const returned = this.removeLeases(takes.map(({ subject }) => subject));
    let kept = returned;
    try {
      const { verdicts, leases } = await this.transact((connection) =>
        this.takeAll(connection, takes, returned),
      );
      kept = leases;
      return verdicts;
    } finally {
      for (const [subject, lease] of kept) this.leases.set(subject, lease);
      this.returnLater();
    }
  }

  /** Runs `work` in a transaction, perhaps several times. Gives up after `DEADLINE_MS`. */
  private async transact<Result>(work: (connection: SqliteConnection) => Result): Promise<Result> {
    this.transactions++;
    try {
      return await this.buckets.attempt(
        (connection) => connection.transaction(() => work(connection)),
        DEADLINE_MS,
      );
    } finally {
      this.transactions--;
    }
  }

  /** Removes leases from memory, so that no request uses their tokens while they are put back. */
  private removeLeases(subjects: Iterable<string>): ReadonlyMap<string, Lease> {
    const removed = new Map<string, Lease>();
    for (const subject of subjects) {
      const lease = this.leases.get(subject);
      if (lease) removed.set(subject, lease);
      this.leases.delete(subject);
    }
    return removed;
  }

  private takeAll(
    connection: SqliteConnection,
    takes: readonly Take[],
    returned: ReadonlyMap<string, Lease>,
  ): Taken {
    const buckets = new Map<string, Bucket>();
    const now_ms = this.now();
    const verdicts = takes.map(({ subject, tier }) => {
      const known = buckets.get(subject);
      const before = known ? known.state : this.bucketOf(connection, subject, returned.get(subject));
      const { state, verdict } = takeToken(before, tier, now_ms);
      const is_changed = state !== before || known?.is_changed === true || returned.has(subject);
      buckets.set(subject, { tier, state, is_changed });
      return verdict;
    });
    const leases = new Map<string, Lease>();
    for (const [subject, bucket] of buckets) {
      const lease = this.leaseFor(subject, bucket, now_ms);
      if (lease) leases.set(subject, lease);
      const state = lease ? takeAhead(bucket.state, lease.tokens, reserveOf(lease.tier)) : bucket.state;
      if (bucket.is_changed || lease) writeBucket(connection, subject, state, bucket.tier);
    }
    this.sweep(connection, now_ms);
    return { verdicts, leases };
  }

  /** Returns the stored bucket with the unused tokens of this process. */
  private bucketOf(
    connection: SqliteConnection,
    subject: string,
    lease: Lease | undefined,
  ): BucketState | undefined {
    const stored = readBucket(connection, subject);
    if (!stored || !lease) return stored;
    return putBack(stored, lease.tier, this.now(), {
      count: lease.left,
      reserve: reserveOf(lease.tier),
      taken_ms: lease.granted_ms,
      room: lease.room,
    });
  }

  /**
   * Returns the lease that a subject gets after its requests of this transaction. Undefined if it sends few requests or
   * has few tokens left, or if another transaction runs, whose lease would replace this one.
   */
  private leaseFor(subject: string, { tier, state }: Bucket, now_ms: number): Lease | undefined {
    const taken_ms = this.taken_ms.get(subject) ?? Number.NEGATIVE_INFINITY;
    const is_busy = now_ms >= taken_ms && now_ms - taken_ms < LEASE_MS;
    this.taken_ms.set(subject, now_ms);
    const day_left = tier.per_day === null ? Number.POSITIVE_INFINITY : tier.per_day - state.day_count;
    const tokens = Math.min(LEASE_TOKENS_MAX, Math.floor(LEASE_SHARE * Math.min(state.tokens, day_left)));
    const has_few = tokens < LEASE_TOKENS_MIN || tokens + reserveOf(tier) > state.tokens;
    if (!is_busy || has_few || this.transactions > 1) return undefined;
    const expires_ms = Math.min(now_ms + LEASE_MS, endOfDayOf(now_ms));
    const room = tier.burst - state.tokens;
    return { tier, granted_ms: now_ms, room, expires_ms, tokens, left: tokens, state };
  }

  /** Puts the unused tokens of leases back after they have ended. */
  private returnLater(): void {
    if (this.leases.size === 0) return;
    this.timer ??= setTimeout(async () => {
      this.timer = undefined;
      const now_ms = this.now();
      const ended = [...this.leases].filter(([, lease]) => !isInTime(lease, now_ms));
      await this.returnLeases(ended.map(([subject]) => subject));
      this.returnLater();
    }, LEASE_MS).unref();
  }

  /** Puts the unused tokens of these leases back. */
  private async returnLeases(subjects: Iterable<string>): Promise<void> {
    const returned = this.removeLeases(subjects);
    if (returned.size === 0) return;
    const putAllBack = (connection: SqliteConnection): void => {
      for (const [subject, lease] of returned) {
        const state = this.bucketOf(connection, subject, lease);
        if (state) writeBucket(connection, subject, state, lease.tier);
      }
    };
    // If it fails, the tokens are lost, and the bucket refills.
    await this.transact(putAllBack).catch(() => undefined);
  }

  /** Deletes some rows whose `idle_from_ms` has passed, at most every 10 s. */
  private sweep(connection: SqliteConnection, now_ms: number): void {
    if (Math.abs(now_ms - this.swept_at_ms) < SWEEP_EVERY_MS) return;
    this.swept_at_ms = now_ms;
    connection.run(
      'DELETE FROM buckets WHERE subject IN (SELECT subject FROM buckets WHERE idle_from_ms < ? LIMIT ?)',
      [now_ms, SWEEP_ROWS],
    );
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    await this.returnLeases([...this.leases.keys()]);
    this.buckets.close();
  }
}

const isInTime = ({ granted_ms, expires_ms }: Lease, now_ms: number): boolean =>
  now_ms >= granted_ms && now_ms < expires_ms;

/** Returns how many tokens a bucket regains during a lease. */
const reserveOf = ({ refill_per_s }: Tier): number => (refill_per_s * LEASE_MS) / 1_000;

function isSameTier(a: Tier, b: Tier): boolean {
  if (a === b) return true;
  const has_same_rate = a.refill_per_s === b.refill_per_s && a.limit === b.limit;
  return has_same_rate && a.burst === b.burst && a.per_day === b.per_day;
}

function readBucket(connection: SqliteConnection, subject: string): BucketState | undefined {
  const sql = 'SELECT tokens, at_ms, day, day_count FROM buckets WHERE subject = ?';
  const [row] = connection.all(sql, [subject]);
  if (!row) return undefined;
  const [tokens, at_ms, day, day_count] = row.map(Number) as [number, number, number, number];
  return { tokens, at_ms, day, day_count };
}

function writeBucket(connection: SqliteConnection, subject: string, state: BucketState, tier: Tier): void {
  const { tokens, at_ms, day, day_count } = state;
  const values = [tokens, at_ms, day, day_count, Math.ceil(idleFromMs(state, tier))];
  connection.run(
    'INSERT OR REPLACE INTO buckets (subject, tokens, at_ms, day, day_count, idle_from_ms) VALUES (?, ?, ?, ?, ?, ?)',
    [subject, ...values],
  );
}
