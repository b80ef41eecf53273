import type { DocumentWrite } from '../../ports/view-store';
import type { Connection, SqlValue } from './connection';
import { type ColumnValues, type Table, tables, toColumns } from './documents';

/**
 * Writes one document under its guard; false where it was not at the expected position. Within a transaction.
 * `indexed`: the indexes are there, and worth a thought.
 */
export function writeDocument(connection: Connection, write: DocumentWrite, indexed: boolean): boolean {
  const table = tables[write.collection];
  const values = toColumns(table, write.document);
  if (write.expected === null) return insert(connection, table, write, values);
  if (!indexed) return assign(connection, table, write, values, []);
  return update(connection, table, write, values);
}

function insert(connection: Connection, table: Table, write: DocumentWrite, values: ColumnValues): boolean {
  const names = Object.keys(values);
  const sql = `INSERT INTO ${table.name} (id, position, ${names.join(', ')})
    VALUES (?, ?${', ?'.repeat(names.length)}) ON CONFLICT (id) DO NOTHING`;
  return connection.run(sql, [write.id, write.position, ...Object.values(values)]).changes === 1;
}

/**
 * Most updates leave the indexed keys as they are. SQLite rewrites every index entry whose column is assigned,
 * changed or not, so the update that assigns none of them is tried first.
 */
function update(connection: Connection, table: Table, write: DocumentWrite, values: ColumnValues): boolean {
  const others = Object.fromEntries(Object.entries(values).filter(([name]) => !table.indexed.includes(name)));
  const same = table.indexed.map((name) => [name, values[name]!] as const);
  return assign(connection, table, write, others, same) || assign(connection, table, write, values, []);
}

function assign(
  connection: Connection,
  table: Table,
  write: DocumentWrite,
  values: ColumnValues,
  same: readonly (readonly [string, SqlValue])[],
): boolean {
  const assignments = Object.keys(values).map((name) => `${name} = ?`);
  const guards = same.map(([name]) => ` AND ${name} IS ?`);
  const sql = `UPDATE ${table.name} SET position = ?, ${assignments.join(', ')}
    WHERE id = ? AND position = ?${guards.join('')}`;
  const kept = same.map(([, value]) => value);
  const parameters = [write.position, ...Object.values(values), write.id, write.expected, ...kept];
  return connection.run(sql, parameters).changes === 1;
}
