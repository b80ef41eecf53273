import type { Unit } from '../../catalog/stored-document';
import type { UnitCondition } from '../../ports/view-store';
import type { SqlInput, SqliteConnection, SqlValue } from './connection';

/*
 * What customers can buy (`CollectionSpec.units`): a row for each unit of each document, by the row id of the document. The rows
 * change in the transaction that writes the document.
 */

/** Stands for an inactive price, which is in no range. */
const INACTIVE_PRICE = -1;

export const unitsTable = (table: string): string => `${table}_units`;

/** Returns the statement that creates the table with the units of a table. `labels` has a space before and after each label. */
export const unitsSchema = (table: string): string =>
  `CREATE TABLE ${unitsTable(table)} (row INTEGER NOT NULL, labels TEXT NOT NULL, price INTEGER NOT NULL,
    in_stock INTEGER NOT NULL, PRIMARY KEY (row, labels, price, in_stock)) STRICT, WITHOUT ROWID`;

/** Returns the SQL of a column with the units of the document at row id `row`: a text of one line for each, as `lineOf` writes it. */
export const unitsColumn = (table: string, row: string): string =>
  `(SELECT group_concat(price || ' ' || in_stock || labels, char(10)) FROM ${unitsTable(table)} WHERE row = ${row})`;

const lineOf = ({ price, in_stock, labels }: Unit): string =>
  `${price ?? INACTIVE_PRICE} ${Number(in_stock)}${labels.map((label) => ` ${label}`).join('')}${labels.length > 0 ? ' ' : ''}`;

/** Returns the units in a column of `unitsColumn`. Undefined if there are none. */
export function readUnits(lines: SqlValue): Unit[] | undefined {
  if (lines === null) return undefined;
  return String(lines)
    .split('\n')
    .map((line) => {
      const [price, in_stock, ...labels] = line.trimEnd().split(' ');
      return {
        price: Number(price) === INACTIVE_PRICE ? null : Number(price),
        in_stock: in_stock === '1',
        labels,
      };
    });
}

/** Returns the SQL of the condition for the document at row id `row`. */
export function unitTerm(
  table: string,
  { unit }: UnitCondition,
  row: string,
): { sql: string; parameters: SqlInput[] } {
  const { sql, parameters } = unitSql(unit);
  return { sql: `EXISTS (SELECT 1 FROM ${unitsTable(table)} AS u WHERE u.row = ${row} ${sql})`, parameters };
}

/** Returns the conditions for a row `u`. Each begins with `AND`. */
export function unitSql({ labels, price, in_stock }: UnitCondition['unit']) {
  const groups = labels.map((matches) => matches.map(() => 'instr(u.labels, ?) > 0').join(' OR '));
  return {
    sql: [
      ...(price ? ['AND u.price BETWEEN ? AND ?'] : []),
      ...(in_stock ? ['AND u.in_stock = 1'] : []),
      ...groups.map((group) => `AND (${group})`),
    ].join(' '),
    parameters: [
      ...(price ? [Math.max(0, price.gte), price.lte] : []),
      ...labels.flatMap((matches) => matches.map(({ word }) => ` ${word} `)),
    ],
  };
}

/** Stores the units of a document that was written. Writes only those that differ from the stored ones. */
export function writeUnits(
  connection: SqliteConnection,
  table: string,
  id: string,
  units: readonly Unit[] = [],
): void {
  const [row, stored] = connection.first(
    `SELECT d.rowid, ${unitsColumn(table, 'd.rowid')} FROM ${table} AS d WHERE d.id = ?`,
    [id],
  )!;
  const former = new Set(stored === null ? [] : String(stored).split('\n'));
  const added = units.map(lineOf).filter((line) => !former.delete(line));
  const run = (sql: string, lines: Iterable<string>) => {
    for (const line of lines) {
      const [price, in_stock] = line.split(' ', 2);
      const labels = line.slice(`${price} ${in_stock}`.length);
      connection.run(sql, [row!, labels, Number(price), Number(in_stock)]);
    }
  };
  const name = unitsTable(table);
  run(`DELETE FROM ${name} WHERE row = ? AND labels = ? AND price = ? AND in_stock = ?`, former);
  run(`INSERT OR IGNORE INTO ${name} (row, labels, price, in_stock) VALUES (?, ?, ?, ?)`, added);
}
