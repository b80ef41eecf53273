import { createReadStream } from 'node:fs';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import type { BrokenRow, FileRecord } from './columns';
import { ImportFileError } from './text-file';
import { xmlParser } from './xml';

/*
 * Workbooks of Excel (.xlsx): zip files with a part in XML for each sheet. The rows of a sheet are streamed. The
 * texts that the cells refer to stay in memory, with about 30 bytes more for each text.
 */

/** The most bytes that are unpacked in a reading. A sheet of 50,000 rows and 100 columns has about 200 MB. */
const UNPACKED_BYTES_MAX = 500_000_000;
/** The most unpacked bytes for each byte of a file whose parts have more than 10 MB. A sheet of short rows has 15. */
const UNPACKED_RATIO_MAX = 100;
const SMALL_BYTES = 10_000_000;
/** The most rows of a sheet in Excel. */
const ROWS_MAX = 1_048_576;
/** The most bytes of a part that stays in memory, such as the list of sheets. */
const KEPT_BYTES_MAX = 20_000_000;
const PARTS_MAX = 10_000;
/** The most texts that cells refer to, and their characters. */
const TEXTS_MAX = 2_000_000;
const TEXTS_LENGTH_MAX = 100_000_000;
/** The most characters of a cell in Excel. */
const CELL_LENGTH_MAX = 32_767;
/** As many columns as other files may have, and one more, so that too many are noticed. */
const CELLS_MAX = 1_001;

/** Returns why a file of an older or protected workbook cannot be read. */
export async function packedFault(path: string): Promise<ImportFileError> {
  // The name of the part that has the encrypted workbook.
  const marker = Buffer.from('EncryptedPackage', 'utf16le').toString('latin1');
  let rest = '';
  for await (const chunk of createReadStream(path, 'latin1')) {
    const text: string = rest + chunk;
    if (text.includes(marker))
      return new ImportFileError(`The file ${path} is protected by a password. Save it without one.`);
    rest = text.slice(-marker.length);
  }
  return new ImportFileError(`The file ${path} is an old workbook (.xls). Save it as .xlsx or as CSV.`);
}

/**
 * Reads the rows of the first visible sheet that has a header: a row with at least two values, or else with one. Rows before
 * it, and rows without a value, are left out. Throws `ImportFileError` if the file is no workbook, is damaged, is too large
 * unpacked or has no rows.
 */
export async function* readWorkbook(path: string): AsyncGenerator<FileRecord | BrokenRow> {
  let zip: ZipFile | undefined;
  try {
    zip = await openPromise(path, { autoClose: false });
    const parts = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) {
      parts.set(entry.fileName, entry);
      if (parts.size > PARTS_MAX) throw new ImportFileError(`The file ${path} has too many parts.`);
    }
    if (!parts.has('xl/workbook.xml'))
      throw new ImportFileError(`The file ${path} is a zip file, but no workbook (.xlsx).`);
    const book = await readBook(new Parts(path, zip, parts));
    for (const width of [2, 1])
      for (const sheet of book.sheets) {
        let has_header = false;
        for await (const { record, line, broken } of readSheet(book, sheet)) {
          const fault = has_header ? broken : undefined;
          has_header ||= record.filter((cell) => cell !== '').length >= width;
          if (fault) yield { line, broken: fault, to_line: line };
          else if (has_header) yield { record, line };
        }
        if (has_header) return;
      }
    throw new ImportFileError(`The file ${path} has no rows in its sheets.`);
  } catch (error) {
    if (error instanceof ImportFileError) throw error;
    throw new ImportFileError(`The file ${path} is a damaged workbook: ${(error as Error).message}.`);
  } finally {
    zip?.close();
  }
}

interface Handlers<Item> {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly close: (name: string, text: string) => Item | undefined;
}

/** The parts of a workbook. */
class Parts {
  private unpacked_bytes = 0;

  constructor(
    readonly path: string,
    private readonly zip: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** Parses a part. Yields what `close` returns for its elements, whose names have no prefix. A missing part is empty. */
  async *read<Item>(name: string | undefined, { open, close }: Handlers<Item>): AsyncGenerator<Item> {
    const entry = this.entries.get(name ?? '');
    if (!entry) return;
    // Several entries of a zip file may have the same bytes, and a sheet may be read twice.
    this.unpacked_bytes += entry.uncompressedSize;
    if (this.unpacked_bytes > UNPACKED_BYTES_MAX) throw this.tooLarge('the file', UNPACKED_BYTES_MAX);
    if (this.unpacked_bytes > Math.max(SMALL_BYTES, UNPACKED_RATIO_MAX * this.zip.fileSize))
      throw new ImportFileError(
        `The file ${this.path} is not a workbook that a program has written: it has more than ${UNPACKED_RATIO_MAX} times its size unpacked.`,
      );
    const items: Item[] = [];
    let text = '';
    const parser = xmlParser({
      open: (full_name, attributes) => {
        open(withoutPrefix(full_name), attributes);
        text = '';
      },
      text: (part) => {
        text += part;
        if (text.length > CELL_LENGTH_MAX) throw new Error('a cell has more than 32,767 characters');
      },
      close: (full_name) => {
        const item = close(withoutPrefix(full_name), text);
        if (item !== undefined) items.push(item);
        text = '';
      },
    });
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const chunk of await this.zip.openReadStreamPromise(entry)) {
      parser.write(decoder.decode(chunk as Buffer, { stream: true }));
      yield* items.splice(0);
    }
    parser.close();
    yield* items;
  }

  /** Parses a part for handlers that keep what they need. */
  async scan(name: string | undefined, handlers: Handlers<never>): Promise<void> {
    const { uncompressedSize = 0 } = this.entries.get(name ?? '') ?? {};
    if (uncompressedSize > KEPT_BYTES_MAX) throw this.tooLarge(`the part ${name}`, KEPT_BYTES_MAX);
    for await (const _ of this.read(name, handlers));
  }

  private tooLarge(what: string, bytes_max: number): ImportFileError {
    return new ImportFileError(
      `The file ${this.path} is too large: ${what} has more than ${bytes_max / 1e6} MB unpacked.`,
    );
  }

  /** Returns all that `close` returns. */
  async all<Item>(name: string | undefined, handlers: Handlers<Item>): Promise<Item[]> {
    const items: Item[] = [];
    let length = 0;
    for await (const item of this.read(name, handlers)) {
      items.push(item);
      length += String(item).length;
      if (items.length > TEXTS_MAX || length > TEXTS_LENGTH_MAX)
        throw new ImportFileError(
          `The file ${this.path} has more texts than fit in memory. Save the sheet as CSV.`,
        );
    }
    return items;
  }
}

const withoutPrefix = (name: string): string => name.slice(name.indexOf(':') + 1);

interface Book {
  readonly parts: Parts;
  /** The names of the parts of the visible sheets. */
  readonly sheets: readonly string[];
  readonly texts: readonly string[];
  readonly styles: readonly Style[];
  /** The day 0. */
  readonly epoch: number;
}

/** How a number is shown: as a date, or with leading zeros up to a number of digits. */
type Style = 'date' | 'plain' | number;

async function readBook(parts: Parts): Promise<Book> {
  const links = new Map<string, string>();
  const kinds = new Map<string, string>();
  await parts.scan('xl/_rels/workbook.xml.rels', {
    open: (name, { Id = '', Target = '', Type = '' }) => {
      if (name !== 'Relationship') return;
      const part = Target.startsWith('/') ? Target.slice(1) : `xl/${Target}`;
      kinds.set(Type.slice(Type.lastIndexOf('/') + 1), part);
      if (Type.endsWith('/worksheet')) links.set(Id, part);
    },
    close: () => undefined,
  });
  const sheets = new Set<string>();
  let epoch = Date.UTC(1899, 11, 30);
  await parts.scan('xl/workbook.xml', {
    open: (name, attributes) => {
      const id = Object.entries(attributes).find(
        ([key]) => /^(\w+:)?id$/i.test(key) && key !== 'sheetId',
      )?.[1];
      const part = links.get(id ?? '');
      const { state = 'visible' } = attributes;
      if (name === 'sheet' && part !== undefined && state === 'visible') sheets.add(part);
      if (name === 'workbookPr' && /^(1|true)$/.test(attributes.date1904 ?? '')) epoch = Date.UTC(1904, 0, 1);
    },
    close: () => undefined,
  });
  return {
    parts,
    sheets: [...sheets],
    epoch,
    texts: await readTexts(parts, kinds),
    styles: await readStyles(parts, kinds),
  };
}

function readTexts(parts: Parts, kinds: ReadonlyMap<string, string>): Promise<string[]> {
  let item = '';
  let is_reading_aid = false;
  return parts.all(kinds.get('sharedStrings'), {
    open: (name) => {
      if (name === 'si') item = '';
      if (name === 'rPh') is_reading_aid = true;
    },
    close: (name, text) => {
      if (name === 't' && !is_reading_aid) item = `${item}${text}`.slice(0, CELL_LENGTH_MAX);
      if (name === 'rPh') is_reading_aid = false;
      return name === 'si' ? unescaped(item) : undefined;
    },
  });
}

/** As long as the longest error of Excel, such as `#EXTERNAL!`. */
const ERROR_LENGTH_MAX = 20;
/** The most characters of a format in Excel. */
const FORMAT_LENGTH_MAX = 255;
/** The formats of dates and times that Excel has without a text (ECMA-376, 18.8.30). */
const isDateId = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);

function styleOf(id: number, code: string | undefined): Style {
  if (code === undefined) return isDateId(id) ? 'date' : 'plain';
  if (/^0+$/.test(code)) return code.length;
  // Without texts in quotation marks, colours and escaped characters.
  return /[ymdhs]/i.test(code.replace(/"[^"]*"|\[[^\]]*\]|\\./g, '').replace(/general/i, ''))
    ? 'date'
    : 'plain';
}

async function readStyles(parts: Parts, kinds: ReadonlyMap<string, string>): Promise<Style[]> {
  const codes = new Map<number, string>();
  const styles: Style[] = [];
  let is_of_cells = false;
  await parts.scan(kinds.get('styles'), {
    open: (name, { numFmtId, formatCode = '' }) => {
      if (name === 'cellXfs') is_of_cells = true;
      if (name === 'numFmt') codes.set(Number(numFmtId), formatCode);
      if (name === 'xf' && is_of_cells)
        styles.push(styleOf(Number(numFmtId), codes.get(Number(numFmtId))?.slice(0, FORMAT_LENGTH_MAX)));
    },
    close: (name) => {
      if (name === 'cellXfs') is_of_cells = false;
      return undefined;
    },
  });
  return styles;
}

/** A row of a sheet. `broken`: why a cell has no value, for the report. */
interface SheetRow extends FileRecord {
  readonly broken: string | undefined;
}

/** Yields the rows of a sheet that have a value, or a cell that should have one. */
function readSheet({ parts, texts, styles, epoch }: Book, sheet: string): AsyncGenerator<SheetRow> {
  let line = 0;
  let rows = 0;
  let column = -1;
  let cell: Readonly<Record<string, string>> = {};
  let value = '';
  let has_formula = false;
  let broken: string | undefined;
  let record: string[] = [];
  return parts.read(sheet, {
    open: (name, attributes) => {
      if (name === 'row') {
        line = Number(attributes.r) || line + 1;
        if (Math.max(++rows, line) > ROWS_MAX)
          throw new ImportFileError(`The file ${parts.path} has a sheet of more than 1,048,576 rows.`);
        column = -1;
        broken = undefined;
        record = [];
      } else if (name === 'c') {
        cell = attributes;
        value = '';
        has_formula = false;
        column = columnOf(attributes.r) ?? column + 1;
      } else if (name === 'f') has_formula = true;
    },
    close: (name, text) => {
      if (name === 'v') value = text;
      if (name === 't') value = `${value}${text}`.slice(0, CELL_LENGTH_MAX);
      if (name === 'c') broken ??= faultOf(cell, value, has_formula);
      if (name === 'c' && value !== '' && column < CELLS_MAX) {
        while (record.length < column) record.push('');
        record[column] = textOf(value, cell.t, styles[Number(cell.s)]);
      }
      const has_content = broken !== undefined || record.some((each) => each.trim() !== '');
      return name === 'row' && has_content ? { record, line, broken } : undefined;
    },
  });

  function textOf(content: string, type = 'n', style: Style = 'plain'): string {
    if (type === 's') return texts[Number(content)] ?? '';
    if (type === 'b') return content === '1' ? 'TRUE' : 'FALSE';
    return type === 'n' ? numberText(content, style, epoch) : unescaped(content);
  }
}

/** Returns why a cell has no value although it should have one, undefined otherwise. An empty text of a formula is a value. */
function faultOf({ r, t = 'n' }: Readonly<Record<string, string>>, value: string, has_formula: boolean) {
  if (t === 'e') return `the cell ${r} has the error ${value.slice(0, ERROR_LENGTH_MAX)}`;
  if (!has_formula || t !== 'n' || value !== '') return undefined;
  return `the cell ${r} has a formula without a result: open and save the file in Excel`;
}

/** Returns a text with the characters that XML cannot have, such as `_x000D_` (ECMA-376, 22.9.2.19). */
const unescaped = (text: string): string =>
  text.replace(/_x(00[01][\dA-F]|005F)_/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );

/** Returns the index of the column of a cell such as `AB12`. */
function columnOf(name: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(name ?? '')?.[0];
  if (letters === undefined) return undefined;
  return [...letters].reduce((index, letter) => 26 * index + letter.charCodeAt(0) - 64, 0) - 1;
}

const DAY_S = 86_400;
/** As many digits as Excel shows. */
const DIGITS_MAX = 15;

/**
 * Returns a number as a text: a code with all its digits, a price without the digits of a binary fraction, a date in ISO 8601.
 * A code of more than 15 digits has lost some in Excel. It stays in the form that says so: `1.2E+19`.
 */
function numberText(text: string, style: Style, epoch: number): string {
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  if (style === 'date') {
    const time = new Date(epoch + Math.round(number * DAY_S) * 1_000);
    if (Number.isNaN(time.getTime())) return text;
    const iso = time.toISOString();
    return Number.isInteger(number) ? iso.slice(0, 10) : iso.slice(0, 19);
  }
  if (typeof style === 'number' && Number.isInteger(number)) return text.padStart(style, '0');
  if (Number.isInteger(number)) return Number.isSafeInteger(number) ? String(number) : text;
  return String(Number(number.toPrecision(DIGITS_MAX)));
}
