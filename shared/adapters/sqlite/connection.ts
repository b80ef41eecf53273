import Database from 'libsql';
import { pause, withJitter } from '../../kernel/async';
import { LRUCache } from '../../kernel/cache';
import { CatalogError } from '../../kernel/errors';

export type SqlInput = string | number | bigint | null;
export type SqlValue = string | number | null;
/** A row's columns in the order of its SELECT. */
export type SqlRow = readonly SqlValue[];
/** Parameters go in as one array: the driver takes a lone `null` for an object and fails on it. */
type Statement = Database.Statement<[readonly SqlInput[]]>;

/** How long a call may block the process on another's lock; past that it waits without blocking. */
const BLOCKING_WAIT_MS = 10;
const DEADLINE_MS = 5_000;
const RETRY_MS_MAX = 20;
const CACHE_KB = 16_000;
/** 16 MB of write-ahead log: pages that are written again and again reach the file once. */
const CHECKPOINT_PAGES = 4_000;
const STATEMENTS_MAX = 256;
/** How soon another process's commit is noticed. */
const POLL_MS = 25;

export interface SqliteOptions {
  /** FULL: a commit is on disk when it returns. NORMAL: a power cut may undo the newest ones, in order. */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** Creates what the file holds; run once, in a transaction. */
  readonly schema: string;
  /** Of the schema, at least 1; a file of another format is refused, unless there is an upgrade from it. */
  readonly format: number;
  /** What turns a file of that format into one of this. */
  readonly upgrades?: Readonly<Record<number, string>>;
  /** How long `attempt` goes on against another's lock; 5 s by default. */
  readonly deadline_ms?: number;
}

/**
 * One SQLite file in WAL mode. Calls are synchronous: nothing of this process can come between the statements of
 * a transaction. Any number of processes may open the same file, also at once for the first time.
 */
export class SqliteConnection {
  readonly file: string;
  private readonly database: Database.Database;
  private readonly statements = new LRUCache<string, Statement>({ max: STATEMENTS_MAX });
  private readonly deadline_ms: number;
  private closed = false;

  private constructor(file: string, deadline_ms: number) {
    this.file = file;
    this.deadline_ms = deadline_ms;
    try {
      this.database = new Database(file, { timeout: BLOCKING_WAIT_MS });
    } catch (cause) {
      throw new CatalogError('unavailable', { message: `cannot open ${file}`, cause });
    }
  }

  /**
   * Throws `CatalogError('unavailable')` where the file cannot be opened, a plain error where it is not ours. `isDamage`
   * tells of the first whether the file itself is to blame.
   */
  static async open(file: string, options: SqliteOptions): Promise<SqliteConnection> {
    const connection = new SqliteConnection(file, options.deadline_ms ?? DEADLINE_MS);
    try {
      // Several processes that turn a new file to WAL at once get SQLITE_BUSY without the wait of the timeout.
      await connection.attempt(() => connection.all('PRAGMA journal_mode = WAL'));
      await connection.attempt(() => connection.prepareFile(options));
    } catch (error) {
      connection.close();
      if (!isDamage(error)) throw error;
      throw new CatalogError('unavailable', { message: `${file} is damaged, or no database`, cause: error });
    }
    return connection;
  }

  private prepareFile({ synchronous, schema, format, upgrades = {} }: SqliteOptions): void {
    this.database.exec(
      `PRAGMA synchronous = ${synchronous}; PRAGMA cache_size = -${CACHE_KB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
    );
    if (this.format() === format) return;
    this.transaction(() => {
      const found = this.format();
      if (found === format) return;
      const statements = found === 0 ? schema : upgrades[found];
      if (statements === undefined)
        throw new Error(`${this.file} has format ${found}; this version reads format ${format}`);
      this.database.exec(`${statements}; PRAGMA user_version = ${format}`);
    });
  }

  private format(): number {
    return Number(this.value('PRAGMA user_version') ?? 0);
  }

  /** All rows. Never a cursor: one that is not read to its end would hold back checkpoints for good. */
  all(sql: string, parameters: readonly SqlInput[] = []): SqlRow[] {
    return this.statement(sql).all(parameters) as SqlRow[];
  }

  /** The only row of a statement that gives one at most. */
  first(sql: string, parameters: readonly SqlInput[] = []): SqlRow | undefined {
    return this.statement(sql).get(parameters) as SqlRow | undefined;
  }

  /** The first column of the first row; undefined where there is no row. */
  value(sql: string, parameters: readonly SqlInput[] = []): SqlValue | undefined {
    return this.first(sql, parameters)?.[0];
  }

  run(sql: string, parameters: readonly SqlInput[] = []): Database.RunResult {
    return this.statement(sql).run(parameters);
  }

  private statement(sql: string): Statement {
    if (this.closed) throw new CatalogError('unavailable', { message: `${this.file} is closed` });
    const known = this.statements.get(sql);
    if (known) return known;
    const prepared = this.database.prepare<[readonly SqlInput[]]>(sql);
    const statement = prepared.reader ? prepared.raw() : prepared;
    this.statements.set(sql, statement);
    return statement;
  }

  /** Runs `work` while no other connection writes; all of it lands or none. `work` throws to undo. */
  transaction<Result>(work: () => Result): Result {
    this.run('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.run('COMMIT');
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  private rollBack(): void {
    try {
      // Some failures, such as a full disk, have ended the transaction already.
      if (this.database.inTransaction) this.run('ROLLBACK');
    } catch {
      // The failure that led here is the one to tell of; the transaction ends with the connection at the latest.
    }
  }

  /**
   * Runs `work` again, without blocking the process in between, for as long as another connection's lock is in
   * its way. Throws `CatalogError('database_timeout')` past the deadline, `CatalogError('unavailable')` where the
   * file fails or is closed.
   */
  async attempt<Result>(work: () => Result, limit_ms = this.deadline_ms): Promise<Result> {
    const deadline_ms = Date.now() + limit_ms;
    for (let pause_ms = 1; ; pause_ms = Math.min(pause_ms * 2, RETRY_MS_MAX)) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || Date.now() >= deadline_ms) throw toCatalogError(error);
      }
      await pause(withJitter(pause_ms));
    }
  }

  /** Changes whenever another connection, of this or of any process, has committed. */
  dataVersion(): number {
    return Number(this.value('PRAGMA data_version'));
  }

  close(): void {
    if (this.closed) return;
    try {
      // The driver lets go of the file only when its statements are collected, so the log is emptied by hand.
      this.all('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another process is at it; the next to open the file goes on from its write-ahead log.
    }
    this.closed = true;
    this.statements.clear();
    this.database.close();
  }
}

/**
 * Calls its listeners when a file may have changed: at once after a commit of this process (`notify`), and within
 * 25 ms after one of any other. It polls only while somebody listens. A call may be for nothing; none is missed
 * where a listener was there before its owner last read.
 */
export class ChangeSignal {
  private readonly connection: SqliteConnection;
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  private seen: number | undefined;

  constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  /** Returns a function that ends the listening. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.startPolling();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) clearInterval(this.timer);
    };
  }

  notify(): void {
    for (const listener of [...this.listeners]) listener();
  }

  private startPolling(): void {
    this.seen = this.read();
    this.timer = setInterval(() => {
      const now = this.read();
      if (now !== undefined && now === this.seen) return;
      this.seen = now;
      this.notify();
    }, POLL_MS);
  }

  /** Undefined where the file cannot be read: the listeners are woken and meet the failure themselves. */
  private read(): number | undefined {
    try {
      return this.connection.dataVersion();
    } catch {
      return undefined;
    }
  }
}

/** Another connection holds a lock that this one needs: the same call may succeed a moment later. */
function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(sqliteCode(error));
}

/**
 * What a caller may be told of a failure: locks that were held too long are `database_timeout`, a disk or file that
 * fails is `unavailable`; anything else (a broken constraint, a mistake in a statement) stays what it is.
 */
function toCatalogError(error: unknown): unknown {
  if (isBusy(error)) return new CatalogError('database_timeout', { cause: error });
  if (/^SQLITE_(IOERR|FULL|CANTOPEN|READONLY|CORRUPT|NOTADB|NOMEM|PERM)/.test(sqliteCode(error)))
    return new CatalogError('unavailable', { cause: error });
  return error;
}

/** Bytes that are no database, or no longer one. Also of what `toCatalogError` made of it. */
export function isDamage(error: unknown): boolean {
  if (error instanceof CatalogError) return isDamage(error.cause);
  return /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error));
}

/** Such as `SQLITE_BUSY`; empty for what is no error of SQLite's. */
export function sqliteCode(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}
