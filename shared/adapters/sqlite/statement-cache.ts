import type Database from 'libsql';
import { LRUCache } from '../../kernel/cache';

const STATEMENTS_MAX = 256;

export type SqlInput = string | number | bigint | null;

/** Parameters go in as one array: the driver takes a lone `null` for an object and fails on it. */
type Statement = Database.Statement<[readonly SqlInput[]]>;

/** Prepared statements by their text, rows as arrays; the least recently used goes when there are too many. */
export class StatementCache {
  private readonly database: Database.Database;
  private readonly statements = new LRUCache<string, Statement>({ max: STATEMENTS_MAX });

  constructor(database: Database.Database) {
    this.database = database;
  }

  get(sql: string): Statement {
    const known = this.statements.get(sql);
    if (known) return known;
    const statement = this.prepare(sql);
    this.statements.set(sql, statement);
    return statement;
  }

  private prepare(sql: string): Statement {
    const statement = this.database.prepare<[readonly SqlInput[]]>(sql);
    return statement.reader ? statement.raw() : statement;
  }

  clear(): void {
    this.statements.clear();
  }
}
