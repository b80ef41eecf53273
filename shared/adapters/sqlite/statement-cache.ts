import type Database from 'libsql';

const STATEMENTS_MAX = 256;

export type SqlInput = string | number | bigint | null;

/** Parameters go in as one array: the driver takes a lone `null` for an object and fails on it. */
type Statement = Database.Statement<[readonly SqlInput[]]>;

/** Prepared statements by their text, rows as arrays; the least recently used goes when there are too many. */
export class StatementCache {
  private readonly database: Database.Database;
  private readonly statements = new Map<string, Statement>();

  constructor(database: Database.Database) {
    this.database = database;
  }

  get(sql: string): Statement {
    const known = this.statements.get(sql);
    if (known) this.statements.delete(sql);
    const statement = known ?? this.prepare(sql);
    this.statements.set(sql, statement);
    if (this.statements.size > STATEMENTS_MAX) this.evictOldest();
    return statement;
  }

  private prepare(sql: string): Statement {
    const statement = this.database.prepare<[readonly SqlInput[]]>(sql);
    return statement.reader ? statement.raw() : statement;
  }

  private evictOldest(): void {
    const oldest = this.statements.keys().next().value;
    if (oldest !== undefined) this.statements.delete(oldest);
  }

  clear(): void {
    this.statements.clear();
  }
}
