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

/** Returns the SQL of a column with the units of the document at row id `row`, as `readUnits` takes them. */
export const unitsColumn = (table: string, row: string): string =>
  `(SELECT json_group_array(json_array(price, in_stock, labels)) FROM ${unitsTable(table)} WHERE row = ${row})`;

/** Returns the units of a document. Undefined if it has none. */
export function readUnits(json: SqlValue): Unit[] | undefined {
  const rows = json === null ? [] : (JSON.parse(String(json)) as [number, number, string][]);
  if (rows.length === 0) return undefined;
  return rows.map(([price, in_stock, labels]) => ({
    price: price === INACTIVE_PRICE ? null : price,
    in_stock: in_stock === 1,
    labels: labels === '' ? [] : labels.trim().split(' '),
  }));
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
  const name = unitsTable(table);
  const row = connection.value(`SELECT rowid FROM ${table} WHERE id = ?`, [id])!;
  const stored = connection.all(`SELECT labels, price, in_stock FROM ${name} WHERE row = ?`, [row]);
  const former = new Map(stored.map((values) => [JSON.stringify(values), values]));
  for (const { price, in_stock, labels } of units) {
    const text = labels.length === 0 ? '' : ` ${labels.join(' ')} `;
    const values = [text, price ?? INACTIVE_PRICE, Number(in_stock)];
    if (!former.delete(JSON.stringify(values)))
      connection.run(`INSERT INTO ${name} (row, labels, price, in_stock) VALUES (?, ?, ?, ?)`, [
        row,
        ...values,
      ]);
  }
  for (const values of former.values())
    connection.run(`DELETE FROM ${name} WHERE row = ? AND labels = ? AND price = ? AND in_stock = ?`, [
      row,
      ...values,
    ]);
}
