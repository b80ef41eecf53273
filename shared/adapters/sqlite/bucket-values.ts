import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import type { List, Table } from './tables';

/*
 * A list that is filtered by the range of another key, such as products by age with a maximum price, has a second row for
 * each bucket: the range key, the facet and the row id of each entry, in no order. A page is found by counting the entries
 * that match in these rows, which takes a hundredth of the time of reading the entries.
 *
 * The bucket itself has the lowest and the highest code of its range keys, and a mask of the classes that they are in. A
 * bucket that cannot have a key in a range is passed over.
 */

/** Codes have 40 bits, which is enough for every price and for the number of an inactive one. */
const CODE_MAX = 2 ** 40 - 1;
const HIGH = 2 ** 32;
const CLASS_MAX = 63;
/** The exponent from which a power of two has two classes. The highest price is then in a class below the last one. */
const HALVED_FROM = 11;
/** Bytes of an entry: four and one for the code, one for the facet. */
const ENTRY_BYTES = 6;
const ROW_ID_BYTES = 4;
/** The most buckets whose values wait in memory for the end of a transaction. A bucket takes about 10 kB. */
const WAITING_MAX = 200;

/** The columns of a bucket that say which keys its entries may have. */
const SUMMARY = 'classes, lowest, highest';
export const SUMMARY_COLUMNS = SUMMARY.split(', ').map((name) => `${name} INTEGER NOT NULL DEFAULT 0`);

export const bucketValuesTable = (table: string): string => `${table}_bucket_values`;

/** Returns the statements that create the table. Row ids come last, because they are seldom read. */
export function bucketValuesSchema(table: string): string[] {
  const name = bucketValuesTable(table);
  return [
    `DROP TABLE IF EXISTS ${name}`,
    `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, entries BLOB NOT NULL, row_ids BLOB NOT NULL) STRICT`,
  ];
}

/** A range of codes, both included. */
export interface CodeRange {
  readonly from: number;
  readonly to: number;
}

/** Returns the codes of a range of keys, both included; undefined if codes do not distinguish all its keys from others. */
export function codesOf(from: number, to: number): CodeRange | undefined {
  return from >= 0 && to < CODE_MAX - 1 ? { from: from + 1, to: to + 1 } : undefined;
}

/** Returns 0 for null and negative numbers, and the largest code for all numbers that are too large. */
const codeOf = (key: SqlValue): number =>
  key === null ? 0 : Math.min(CODE_MAX, Math.max(0, Number(key) + 1));

/**
 * Returns the class of a code: one for each power of two, or two from the exponent `HALVED_FROM` on. The highest class has
 * no price, but the number of an inactive one.
 */
function classOf(code: number): number {
  const exponent = code < HIGH ? 31 - Math.clz32(code | 1) : 63 - Math.clz32(Math.floor(code / HIGH));
  if (exponent < HALVED_FROM) return exponent;
  const upper_half = code >= 1.5 * 2 ** exponent ? 1 : 0;
  return Math.min(CLASS_MAX, HALVED_FROM + 2 * (exponent - HALVED_FROM) + upper_half);
}

const bit = (number: number): bigint => 1n << BigInt(number);
const toMask = (bits: bigint): bigint => BigInt.asIntN(64, bits);

/** Returns the condition that a bucket may have an entry in the range. */
export function summaryCondition({ from, to }: CodeRange): { sql: string; parameters: SqlInput[] } {
  const classes = toMask(bit(classOf(to) + 1) - bit(classOf(from)));
  return { sql: 'classes & ? <> 0 AND lowest <= ? AND highest >= ?', parameters: [classes, to, from] };
}

/** Returns the indexes of the entries that match: of one of the facets, with a code in the range. */
export function matchingEntries(
  entries: Uint8Array,
  facets: readonly number[],
  { from, to }: CodeRange,
): number[] {
  const { low, high, facet } = columnsOf(entries);
  const found: number[] = [];
  const is_low = to < HIGH;
  for (let index = 0; index < low.length; index++) {
    // Most ranges are decided by the lower bits of most entries.
    if (is_low && (low[index]! < from || low[index]! > to)) continue;
    const code = high[index]! * HIGH + low[index]!;
    if (code >= from && code <= to && facets.includes(facet[index]!)) found.push(index);
  }
  return found;
}

/** The columns of `entries`, in this order: the lower 32 bits of all codes, the upper 8 bits, and the facets. */
interface EntryColumns {
  readonly low: Uint32Array;
  readonly high: Uint8Array;
  readonly facet: Uint8Array;
}

function columnsOf(entries: Uint8Array): EntryColumns {
  const { buffer, byteOffset } = aligned(entries);
  const count = entries.length / ENTRY_BYTES;
  return {
    low: new Uint32Array(buffer, byteOffset, count),
    high: new Uint8Array(buffer, byteOffset + 4 * count, count),
    facet: new Uint8Array(buffer, byteOffset + 5 * count, count),
  };
}

const columnsFor = (count: number): EntryColumns => columnsOf(new Uint8Array(count * ENTRY_BYTES));

const aligned = (bytes: Uint8Array): Uint8Array =>
  bytes.byteOffset % ROW_ID_BYTES === 0 ? bytes : new Uint8Array(bytes);

function rowIdsOf(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, length } = aligned(bytes);
  return new Uint32Array(buffer, byteOffset, length / ROW_ID_BYTES);
}

/** The values of the entries of one bucket. An entry keeps its place, so that a change of its key changes few bytes. */
export class BucketValues {
  private count: number;
  private row_ids: Uint32Array;
  private columns: EntryColumns;

  private constructor(row_ids: Uint32Array, columns: EntryColumns) {
    this.count = row_ids.length;
    this.row_ids = row_ids;
    this.columns = columns;
  }

  static read(entries: Uint8Array, row_ids: Uint8Array): BucketValues {
    return new BucketValues(rowIdsOf(row_ids), columnsOf(entries));
  }

  /** Each row consists of a row id, a facet and a range key. */
  static of(rows: readonly SqlRow[]): BucketValues {
    const row_ids = Uint32Array.from(rows, ([row_id]) => Number(row_id));
    const values = new BucketValues(row_ids, columnsFor(rows.length));
    for (const [index, [, facet, key]] of rows.entries()) values.assign(index, Number(facet), key!);
    return values;
  }

  /** Adds or changes an entry. */
  set(row_id: number, facet: number, key: SqlValue): void {
    let index = this.row_ids.indexOf(row_id);
    if (index === -1) {
      index = this.count;
      this.resize(this.count + 1);
      this.row_ids[index] = row_id;
    }
    this.assign(index, facet, key);
  }

  remove(row_id: number): void {
    const index = this.row_ids.indexOf(row_id);
    if (index === -1) return;
    for (const column of [this.row_ids, ...Object.values(this.columns)])
      column[index] = column[this.count - 1]!;
    this.resize(this.count - 1);
  }

  private assign(index: number, facet: number, key: SqlValue): void {
    const code = codeOf(key);
    this.columns.low[index] = code;
    this.columns.high[index] = Math.floor(code / HIGH);
    this.columns.facet[index] = facet;
  }

  private resize(count: number): void {
    const kept = Math.min(count, this.count);
    const row_ids = new Uint32Array(count);
    const columns = columnsFor(count);
    row_ids.set(this.row_ids.subarray(0, kept));
    columns.low.set(this.columns.low.subarray(0, kept));
    columns.high.set(this.columns.high.subarray(0, kept));
    columns.facet.set(this.columns.facet.subarray(0, kept));
    this.count = count;
    this.row_ids = row_ids;
    this.columns = columns;
  }

  get entries(): Uint8Array {
    const { buffer, byteOffset } = this.columns.low;
    return new Uint8Array(buffer, byteOffset, this.count * ENTRY_BYTES);
  }

  get row_id_bytes(): Uint8Array {
    return new Uint8Array(this.row_ids.buffer, this.row_ids.byteOffset, this.row_ids.byteLength);
  }

  /** What the bucket has of its entries: see `SUMMARY`. */
  get summary(): readonly [classes: bigint, lowest: number, highest: number] {
    const { low, high } = this.columns;
    const has_class = new Uint8Array(CLASS_MAX + 1);
    let lowest = CODE_MAX;
    let highest = 0;
    for (let index = 0; index < this.count; index++) {
      const code = high[index]! * HIGH + low[index]!;
      has_class[classOf(code)] = 1;
      if (code < lowest) lowest = code;
      if (code > highest) highest = code;
    }
    const mask = has_class.reduce((bits, has, number) => (has ? bits | bit(number) : bits), 0n);
    return [toMask(mask), lowest, highest];
  }
}

/** Reads the row ids of the entries of a bucket, in the order of its `entries`. */
export function readRowIds(connection: SqliteConnection, table: Table, id: number): Uint32Array {
  const sql = `SELECT row_ids FROM ${bucketValuesTable(table.name)} WHERE id = ?`;
  return rowIdsOf(connection.value(sql, [id]) as unknown as Uint8Array);
}

/** The key of a bucket: its list and scope, and where it begins. */
export type BucketKey = readonly [list: number, scope: SqlInput, first_key: SqlInput, first_id: SqlValue];

interface Waiting {
  readonly bucket: BucketKey;
  readonly values: BucketValues;
}

/**
 * Writes the values of buckets and their classes. Changes wait until `finish`, because a transaction often changes a bucket
 * many times.
 */
export class BucketValuesWriter {
  private readonly connection: SqliteConnection;
  private readonly buckets: string;
  private readonly name: string;
  private readonly waiting = new Map<number, Waiting>();

  /** `buckets` is the table of the buckets. */
  constructor(connection: SqliteConnection, table: Table, buckets: string) {
    this.connection = connection;
    this.buckets = buckets;
    this.name = bucketValuesTable(table.name);
  }

  /** Adds an empty row for a bucket. Returns its id. */
  create(): number {
    const sql = `INSERT INTO ${this.name} (entries, row_ids) VALUES (x'', x'')`;
    return Number(this.connection.run(sql).lastInsertRowid);
  }

  /** Returns the values of a bucket, to be changed. */
  of(id: number, bucket: BucketKey): BucketValues {
    const waiting = this.waiting.get(id);
    if (waiting) return waiting.values;
    const sql = `SELECT entries, row_ids FROM ${this.name} WHERE id = ?`;
    const row = this.connection.first(sql, [id]) as unknown as readonly [Uint8Array, Uint8Array];
    const values = BucketValues.read(...row);
    this.replace(id, bucket, values);
    return values;
  }

  /** Replaces the values of a bucket. */
  replace(id: number, bucket: BucketKey, values: BucketValues): void {
    if (this.waiting.size >= WAITING_MAX) this.finish();
    this.waiting.set(id, { bucket, values });
  }

  finish(): void {
    for (const [id, { bucket, values }] of this.waiting) {
      const { summary, entries, row_id_bytes } = values;
      const sql = `UPDATE ${this.name} SET entries = ?, row_ids = ? WHERE id = ?`;
      this.connection.run(sql, [entries, row_id_bytes, id]);
      this.connection.run(
        `UPDATE ${this.buckets} SET (${SUMMARY}) = (?, ?, ?)
          WHERE list = ? AND scope = ? AND first_key = ? AND first_id = ? AND (${SUMMARY}) <> (?, ?, ?)`,
        [...summary, ...bucket, ...summary],
      );
    }
    this.waiting.clear();
  }
}

/** Returns the SQL that reads the values of entries of a list: row id, facet and range key. */
export const valuesSql = ({ range }: List): string => `rowid, facet, ${range}`;
