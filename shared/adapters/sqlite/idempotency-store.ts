import type { StoreHealth } from '../../ports/event-store';
import type {
  Claim,
  Claimed,
  IdempotencyStore,
  OperationKey,
  RenderedAnswer,
} from '../../ports/idempotency-store';
import { BYTES_PER_RECORD, decodeAnswer, encodeAnswer } from '../stored-answer';
import type { SqliteConnection, SqlRow } from './connection';
import { type DisposableStoreOptions, nameOfFormat, openDisposable } from './disposable-file';

/** How many records a record counts as: more with a long answer. */
const recordsOf = (row: 'new' | 'old' | 'operations'): string =>
  `(1 + length(coalesce(${row}.answer, '')) / ${BYTES_PER_RECORD})`;

/**
 * `holder` is null while no request runs the operation. `answer` is null until the operation has ended. Triggers count the
 * records of each API key.
 */
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
  CREATE INDEX operations_expiry ON operations (expires_at_ms);
  CREATE INDEX operations_of_key ON operations (api_key_id, expires_at_ms);
  CREATE TABLE record_counts (api_key_id TEXT PRIMARY KEY, records INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER operations_added AFTER INSERT ON operations
    BEGIN
      INSERT INTO record_counts VALUES (new.api_key_id, ${recordsOf('new')})
        ON CONFLICT (api_key_id) DO UPDATE SET records = records + excluded.records;
    END;
  CREATE TRIGGER operations_answered AFTER UPDATE OF answer ON operations
    BEGIN
      UPDATE record_counts SET records = records + ${recordsOf('new')} - ${recordsOf('old')}
        WHERE api_key_id = new.api_key_id;
    END;
  CREATE TRIGGER operations_deleted AFTER DELETE ON operations
    BEGIN
      UPDATE record_counts SET records = records - ${recordsOf('old')} WHERE api_key_id = old.api_key_id;
    END`;

const FORMAT = 2;
/** The name of the file in DATA_DIR. */
export const IDEMPOTENCY_FILE = `${nameOfFormat('idempotency', FORMAT)}.sqlite`;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 100;

const BY_KEY = 'api_key_id = ? AND idempotency_key = ?';
const HELD = `${BY_KEY} AND holder = ?`;

/**
 * Stores operations in a SQLite file. Exact across all processes that have it open. After a damaged file was replaced by an
 * empty one, requests from before count as new ones.
 */
export class SqliteIdempotencyStore implements IdempotencyStore {
  private swept_at_ms = Number.NEGATIVE_INFINITY;

  private constructor(private readonly operations: SqliteConnection) {}

  static async open({ file, ...reports }: DisposableStoreOptions): Promise<SqliteIdempotencyStore> {
    // FULL: if a power failure undid a claim but not its write, a repeated request would write a second time.
    const options = { synchronous: 'FULL', schema: () => SCHEMA, format: FORMAT, ...reports } as const;
    return new SqliteIdempotencyStore(await openDisposable(file, options));
  }

  async claim(key: OperationKey, claim: Claim): Promise<Claimed> {
    return this.operations.attempt((connection) => {
      // For most repeated requests there is a stored answer. This read finds it without the write lock of a transaction.
      const before = read(connection, key, claim);
      if (before && before.outcome !== 'claimed') return before;
      return connection.transaction(() => {
        const current = read(connection, key, claim);
        if (current && current.outcome !== 'claimed') return current;
        const refused = current ? undefined : checkQuota(connection, key, claim);
        if (refused) return refused;
        const claimed = current ?? { outcome: 'claimed', started_at_ms: claim.now_ms, resumed: false };
        write(connection, key, claim, claimed.started_at_ms);
        this.sweep(connection, claim.now_ms);
        return claimed;
      });
    });
  }

  async renew(key: OperationKey, holder: string, locked_until_ms: number): Promise<boolean> {
    return this.change(`UPDATE operations SET locked_until_ms = ? WHERE ${HELD}`, [
      locked_until_ms,
      ...heldBy(key, holder),
    ]);
  }

  async storeAnswer(
    key: OperationKey,
    holder: string,
    answer: RenderedAnswer,
    expires_at_ms: number,
  ): Promise<boolean> {
    return this.change(`UPDATE operations SET answer = ?, expires_at_ms = ?, holder = NULL WHERE ${HELD}`, [
      encodeAnswer(answer),
      expires_at_ms,
      ...heldBy(key, holder),
    ]);
  }

  async release(key: OperationKey, holder: string): Promise<boolean> {
    return this.change(`UPDATE operations SET holder = NULL WHERE ${HELD}`, heldBy(key, holder));
  }

  async discard(key: OperationKey, holder: string): Promise<boolean> {
    return this.change(`DELETE FROM operations WHERE ${HELD}`, heldBy(key, holder));
  }

  /** Returns whether the statement changed a row. */
  private async change(statement: string, parameters: readonly (string | number)[]): Promise<boolean> {
    const { changes } = await this.operations.attempt((connection) =>
      connection.write(statement, parameters),
    );
    return changes > 0;
  }

  /** Deletes some expired rows, at most every 10 s. While there are more, with each claim: more than claims add. */
  private sweep(connection: SqliteConnection, now_ms: number): void {
    if (Math.abs(now_ms - this.swept_at_ms) < SWEEP_EVERY_MS) return;
    const { changes } = connection.run(
      'DELETE FROM operations WHERE rowid IN (SELECT rowid FROM operations WHERE expires_at_ms <= ? LIMIT ?)',
      [now_ms, SWEEP_ROWS],
    );
    if (changes < SWEEP_ROWS) this.swept_at_ms = now_ms;
  }

  async check(): Promise<StoreHealth> {
    await this.operations.attempt((connection) => connection.value('SELECT 1 FROM operations LIMIT 1'));
    return this.operations.health();
  }

  async close(): Promise<void> {
    this.operations.close();
  }
}

/** Returns the state of the operation; undefined if there is none or it has expired. */
function read(
  connection: SqliteConnection,
  { api_key_id, idempotency_key }: OperationKey,
  { fingerprint, now_ms }: Claim,
): Claimed | undefined {
  const [row] = connection.all(
    `SELECT fingerprint, started_at_ms, holder, locked_until_ms, answer FROM operations WHERE ${BY_KEY} AND expires_at_ms > ?`,
    [api_key_id, idempotency_key, now_ms],
  );
  return row && stateOf(row, fingerprint, now_ms);
}

/** Returns the outcome `quota_reached` if the API key may have no further record. Deletes some of its expired rows then. */
function checkQuota(
  connection: SqliteConnection,
  { api_key_id }: OperationKey,
  { records_max, now_ms }: Claim,
): Claimed | undefined {
  const countRecords = (): number =>
    Number(connection.value('SELECT records FROM record_counts WHERE api_key_id = ?', [api_key_id]) ?? 0);
  if (countRecords() < records_max) return undefined;
  connection.run(
    `DELETE FROM operations WHERE rowid IN
      (SELECT rowid FROM operations WHERE api_key_id = ? AND expires_at_ms <= ? LIMIT ?)`,
    [api_key_id, now_ms, SWEEP_ROWS],
  );
  const records = countRecords();
  if (records < records_max) return undefined;
  const last_to_expire = connection.value(
    `SELECT expires_at_ms FROM (
       SELECT expires_at_ms, sum(${recordsOf('operations')}) OVER (ORDER BY expires_at_ms) AS expired
       FROM operations WHERE api_key_id = ?)
     WHERE expired > ? LIMIT 1`,
    [api_key_id, records - records_max],
  );
  const free_at_ms = Number(last_to_expire);
  // More rows had expired than were deleted.
  return free_at_ms <= now_ms ? undefined : { outcome: 'quota_reached', free_at_ms };
}

function write(
  connection: SqliteConnection,
  { api_key_id, idempotency_key }: OperationKey,
  claim: Claim,
  started_at_ms: number,
): void {
  const { fingerprint, holder, locked_until_ms, expires_at_ms } = claim;
  connection.run(
    `INSERT INTO operations
      (api_key_id, idempotency_key, fingerprint, started_at_ms, holder, locked_until_ms, expires_at_ms, answer)
      VALUES (?, ?, ?, ?, ?, ?, ?, NULL)
      ON CONFLICT (api_key_id, idempotency_key) DO UPDATE SET fingerprint = excluded.fingerprint,
        started_at_ms = excluded.started_at_ms, holder = excluded.holder, answer = NULL,
        locked_until_ms = excluded.locked_until_ms, expires_at_ms = excluded.expires_at_ms`,
    [api_key_id, idempotency_key, fingerprint, started_at_ms, holder, locked_until_ms, expires_at_ms],
  );
}

function stateOf(row: SqlRow, fingerprint: string, now_ms: number): Claimed {
  const [stored_fingerprint, started_at_ms, holder, locked_until_ms, answer] = row;
  if (stored_fingerprint !== fingerprint) return { outcome: 'other_request' };
  if (typeof answer === 'string') return { outcome: 'answered', answer: decodeAnswer(answer) };
  if (holder !== null && Number(locked_until_ms) > now_ms) return { outcome: 'locked' };
  return { outcome: 'claimed', started_at_ms: Number(started_at_ms), resumed: true };
}

const heldBy = ({ api_key_id, idempotency_key }: OperationKey, holder: string): string[] => [
  api_key_id,
  idempotency_key,
  holder,
];
