import { Batcher } from '../../kernel/async';
import type { RateLimiter, Take, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, idleFromMs, takeToken } from '../token-bucket';
import type { SqliteConnection } from './connection';
import { DisposableFile, type OnRecreated } from './disposable-file';

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
/** How long a request waits for locks of other processes. After this time, the caller uses the limiter of its process. */
const DEADLINE_MS = 100;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 1_000;

export interface SqliteRateLimiterOptions {
  readonly file: string;
  /** Returns Unix milliseconds; the machine's clock by default. */
  readonly now?: () => number;
  /** Called after a damaged file was replaced by an empty one: all limits start full. */
  readonly onRecreated?: OnRecreated;
  /** See `SqliteOptions`. */
  readonly wal_pages_max?: number | undefined;
}

/** Stores token buckets in a SQLite file. Exact across all processes that have it open. */
export class SqliteRateLimiter implements RateLimiter {
  private readonly buckets: DisposableFile;
  private readonly now: () => number;
  private readonly batcher = new Batcher((takes: readonly Take[]) => this.takeTogether(takes));
  private swept_at_ms = Number.NEGATIVE_INFINITY;

  private constructor(buckets: DisposableFile, now: () => number) {
    this.buckets = buckets;
    this.now = now;
  }

  static async open({
    file,
    now = Date.now,
    onRecreated,
    wal_pages_max,
  }: SqliteRateLimiterOptions): Promise<SqliteRateLimiter> {
    // NORMAL: a power failure may undo the latest counts, which is harmless, and never corrupts the file.
    const options = {
      synchronous: 'NORMAL',
      schema: SCHEMA,
      format: FORMAT,
      onRecreated,
      wal_pages_max,
    } as const;
    return new SqliteRateLimiter(await DisposableFile.open(file, options), now);
  }

  take(subject: string, tier: Tier): Promise<Verdict> {
    return this.batcher.load('', { subject, tier });
  }

  /** Takes tokens for all requests of one turn of the event loop in one transaction, one after the other. */
  private async takeTogether(takes: readonly Take[]): Promise<Verdict[]> {
    return this.buckets.attempt(
      (connection) => connection.transaction(() => this.takeAll(connection, takes)),
      DEADLINE_MS,
    );
  }

  private takeAll(connection: SqliteConnection, takes: readonly Take[]): Verdict[] {
    const changed = new Map<string, { state: BucketState; tier: Tier }>();
    const now_ms = this.now();
    const verdicts = takes.map(({ subject, tier }) => {
      const before = changed.get(subject)?.state ?? read(connection, subject);
      const { state, verdict } = takeToken(before, tier, now_ms);
      if (state !== before) changed.set(subject, { state, tier });
      return verdict;
    });
    for (const [subject, { state, tier }] of changed)
      write(connection, subject, state, idleFromMs(state, tier));
    this.sweep(connection, now_ms);
    return verdicts;
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
    this.buckets.close();
  }
}

function read(connection: SqliteConnection, subject: string): BucketState | undefined {
  const sql = 'SELECT tokens, at_ms, day, day_count FROM buckets WHERE subject = ?';
  const [row] = connection.all(sql, [subject]);
  if (!row) return undefined;
  const [tokens, at_ms, day, day_count] = row.map(Number) as [number, number, number, number];
  return { tokens, at_ms, day, day_count };
}

function write(
  connection: SqliteConnection,
  subject: string,
  state: BucketState,
  idle_from_ms: number,
): void {
  const values = [state.tokens, state.at_ms, state.day, state.day_count, Math.ceil(idle_from_ms)];
  connection.run(
    'INSERT OR REPLACE INTO buckets (subject, tokens, at_ms, day, day_count, idle_from_ms) VALUES (?, ?, ?, ?, ?, ?)',
    [subject, ...values],
  );
}
