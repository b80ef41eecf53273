import { rmSync } from 'node:fs';
import { Batcher } from '../../kernel/async';
import type { RateLimiter, Take, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, idleFromMs, takeToken } from '../token-bucket';
import { isDamage, SqliteConnection } from './connection';

/** `idle_from_ms`: from then on the row says no more than no row. */
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
/** A request waits this long for another process's lock, and is then limited by its own process alone. */
const DEADLINE_MS = 100;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 1_000;

/** Token buckets in a SQLite file, exact across all processes that have it open. */
export class SqliteRateLimiter implements RateLimiter {
  private readonly connection: SqliteConnection;
  private readonly takes = new Batcher((takes: readonly Take[]) => this.takeTogether(takes));
  private swept_at_ms = Number.NEGATIVE_INFINITY;

  private constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  static async open({ file }: { file: string }): Promise<SqliteRateLimiter> {
    // NORMAL: a power cut may forget the newest counts, which does no harm, but never leaves a file that is broken.
    const options = {
      synchronous: 'NORMAL',
      schema: SCHEMA,
      format: FORMAT,
    } as const;
    try {
      return new SqliteRateLimiter(await SqliteConnection.open(file, options));
    } catch (error) {
      if (!isDamage(error)) throw error;
      // Counts are all there is in it: nobody should be without a shop for them.
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      return new SqliteRateLimiter(await SqliteConnection.open(file, options));
    }
  }

  take(subject: string, tier: Tier, now_ms: number): Promise<Verdict> {
    return this.takes.load('', { subject, tier, now_ms });
  }

  /** Those that asked in one turn of the event loop share a transaction, each with what the one before has left. */
  private async takeTogether(takes: readonly Take[]): Promise<Verdict[]> {
    const turn = (): Verdict[] => this.takeAll(takes);
    return this.connection.attempt(() => this.connection.transaction(turn), DEADLINE_MS);
  }

  private takeAll(takes: readonly Take[]): Verdict[] {
    const changed = new Map<string, { state: BucketState; tier: Tier }>();
    const verdicts = takes.map(({ subject, tier, now_ms }) => {
      const before = changed.get(subject)?.state ?? this.read(subject);
      const { state, verdict } = takeToken(before, tier, now_ms);
      if (state !== before) changed.set(subject, { state, tier });
      return verdict;
    });
    for (const [subject, { state, tier }] of changed) this.write(subject, state, idleFromMs(state, tier));
    this.sweep(takes.at(-1)!.now_ms);
    return verdicts;
  }

  private read(subject: string): BucketState | undefined {
    const sql = 'SELECT tokens, at_ms, day, day_count FROM buckets WHERE subject = ?';
    const [row] = this.connection.all(sql, [subject]);
    if (!row) return undefined;
    const [tokens, at_ms, day, day_count] = row.map(Number) as [number, number, number, number];
    return { tokens, at_ms, day, day_count };
  }

  private write(subject: string, state: BucketState, idle_from_ms: number): void {
    const values = [state.tokens, state.at_ms, state.day, state.day_count, Math.ceil(idle_from_ms)];
    this.connection.run(
      'INSERT OR REPLACE INTO buckets (subject, tokens, at_ms, day, day_count, idle_from_ms) VALUES (?, ?, ?, ?, ?, ?)',
      [subject, ...values],
    );
  }

  /** Forgets some of those who have not asked for so long that they start anew anyway. */
  private sweep(now_ms: number): void {
    if (Math.abs(now_ms - this.swept_at_ms) < SWEEP_EVERY_MS) return;
    this.swept_at_ms = now_ms;
    this.connection.run(
      'DELETE FROM buckets WHERE subject IN (SELECT subject FROM buckets WHERE idle_from_ms < ? LIMIT ?)',
      [now_ms, SWEEP_ROWS],
    );
  }

  async close(): Promise<void> {
    this.connection.close();
  }
}
