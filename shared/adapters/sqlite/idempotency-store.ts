import type {
  Claim,
  Claimed,
  IdempotencyStore,
  KeptAnswer,
  OperationKey,
} from '../../ports/idempotency-store';
import { SqliteConnection, type SqlRow } from './connection';

/** `holder` is null while nobody runs the operation, `answer` (JSON) until it has ended. */
const SCHEMA = `
  CREATE TABLE operations (
    api_key_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    holder TEXT,
    locked_until_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    answer TEXT,
    PRIMARY KEY (api_key_id, idempotency_key)
  ) STRICT;
  CREATE INDEX operations_expiry ON operations (expires_at_ms)`;

const FORMAT = 1;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 1_000;

const THIS = 'api_key_id = ? AND idempotency_key = ?';
const HELD = `${THIS} AND holder = ?`;

/** Operations in a SQLite file, exact across all processes that have it open. */
export class SqliteIdempotencyStore implements IdempotencyStore {
  private readonly connection: SqliteConnection;
  private swept_at_ms = Number.NEGATIVE_INFINITY;

  private constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  static async open({ file }: { file: string }): Promise<SqliteIdempotencyStore> {
    // FULL: were a claim lost to a power cut and its write kept, the repetition would write a second time.
    const options = { synchronous: 'FULL', schema: SCHEMA, format: FORMAT } as const;
    return new SqliteIdempotencyStore(await SqliteConnection.open(file, options));
  }

  async claim(key: OperationKey, claim: Claim): Promise<Claimed> {
    return this.connection.attempt(() => {
      // What is answered already, the most frequent repetition, takes no lock of the file.
      const seen = this.read(key, claim);
      if (seen && seen.outcome !== 'claimed') return seen;
      return this.connection.transaction(() => {
        const known = this.read(key, claim);
        if (known && known.outcome !== 'claimed') return known;
        const claimed = known ?? { outcome: 'claimed', started_at_ms: claim.now_ms, resumed: false };
        this.write(key, claim, claimed.started_at_ms);
        this.sweep(claim.now_ms);
        return claimed;
      });
    });
  }

  /** What is known of the operation; undefined where nothing is, or nothing that still counts. */
  private read(
    { api_key_id, idempotency_key }: OperationKey,
    { fingerprint, now_ms }: Claim,
  ): Claimed | undefined {
    const [row] = this.connection.all(
      `SELECT fingerprint, started_at_ms, holder, locked_until_ms, answer FROM operations WHERE ${THIS} AND expires_at_ms > ?`,
      [api_key_id, idempotency_key, now_ms],
    );
    return row && stateOf(row, fingerprint, now_ms);
  }

  private write({ api_key_id, idempotency_key }: OperationKey, claim: Claim, started_at_ms: number): void {
    const { fingerprint, holder, locked_until_ms, expires_at_ms } = claim;
    this.connection.run(
      `INSERT OR REPLACE INTO operations
        (api_key_id, idempotency_key, fingerprint, started_at_ms, holder, locked_until_ms, expires_at_ms, answer)
        VALUES (?, ?, ?, ?, ?, ?, ?, NULL)`,
      [api_key_id, idempotency_key, fingerprint, started_at_ms, holder, locked_until_ms, expires_at_ms],
    );
  }

  async renew(key: OperationKey, holder: string, locked_until_ms: number): Promise<void> {
    await this.update(`SET locked_until_ms = ? WHERE ${HELD}`, [locked_until_ms, ...held(key, holder)]);
  }

  async keep(key: OperationKey, holder: string, answer: KeptAnswer, expires_at_ms: number): Promise<void> {
    const kept = [JSON.stringify(answer), expires_at_ms];
    await this.update(`SET answer = ?, expires_at_ms = ?, holder = NULL WHERE ${HELD}`, [
      ...kept,
      ...held(key, holder),
    ]);
  }

  async release(key: OperationKey, holder: string): Promise<void> {
    await this.update(`SET holder = NULL WHERE ${HELD}`, held(key, holder));
  }

  async forget(key: OperationKey, holder: string): Promise<void> {
    await this.connection.attempt(() =>
      this.connection.run(`DELETE FROM operations WHERE ${HELD}`, held(key, holder)),
    );
  }

  private async update(change: string, parameters: readonly (string | number)[]): Promise<void> {
    await this.connection.attempt(() => this.connection.run(`UPDATE operations ${change}`, parameters));
  }

  private sweep(now_ms: number): void {
    if (Math.abs(now_ms - this.swept_at_ms) < SWEEP_EVERY_MS) return;
    this.swept_at_ms = now_ms;
    this.connection.run(
      'DELETE FROM operations WHERE rowid IN (SELECT rowid FROM operations WHERE expires_at_ms <= ? LIMIT ?)',
      [now_ms, SWEEP_ROWS],
    );
  }

  async check(): Promise<void> {
    await this.connection.attempt(() => this.connection.value('SELECT 1 FROM operations LIMIT 1'));
  }

  async close(): Promise<void> {
    this.connection.close();
  }
}

function stateOf(row: SqlRow, fingerprint: string, now_ms: number): Claimed {
  const [asked, started_at_ms, holder, locked_until_ms, answer] = row;
  if (asked !== fingerprint) return { outcome: 'other_request' };
  if (typeof answer === 'string') return { outcome: 'answered', answer: JSON.parse(answer) as KeptAnswer };
  if (holder !== null && Number(locked_until_ms) > now_ms)
    return { outcome: 'locked', locked_until_ms: Number(locked_until_ms) };
  return { outcome: 'claimed', started_at_ms: Number(started_at_ms), resumed: true };
}

const held = ({ api_key_id, idempotency_key }: OperationKey, holder: string): string[] => [
  api_key_id,
  idempotency_key,
  holder,
];
