import { crc32, deflateRawSync } from 'node:zlib';

/** Makes a zip file of texts by their names. */
export function zipOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content as string);
    const packed = deflateRawSync(data);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(data), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(data.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), fields, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\u0000'), fields, rest, Buffer.from(name));
    parts.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, Buffer.from('PK\u0005\u0006'), end]);
}

/** A cell: a text, which is stored once for all cells, or the XML of a cell without its address. */
type Cell = string | { readonly xml: string };

export interface WorkbookOptions {
  /** The XML in `cellXfs` and before it. */
  readonly styles?: string;
  readonly is_1904?: boolean;
  readonly states?: readonly string[];
}

const xml = (text: string): string =>
  text.replace(/[&<>"]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[each]!);
const NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Makes a workbook (.xlsx) with sheets of rows of cells. An empty text is no cell. */
export function workbookOf(
  sheets: readonly (readonly (readonly Cell[])[])[],
  { styles = '', is_1904 = false, states = [] }: WorkbookOptions = {},
): Buffer {
  const texts: string[] = [];
  const lettersOf = (column: number): string =>
    (column < 26 ? '' : lettersOf(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26));
  const addressOf = (row: number, column: number) => `${lettersOf(column)}${row + 1}`;
  const cellOf = (cell: Cell, row: number, column: number): string => {
    const address = `<c r="${addressOf(row, column)}"`;
    if (typeof cell !== 'string') return cell.xml.replace('<c', address);
    return cell === '' ? '' : `${address} t="s"><v>${texts.push(cell) - 1}</v></c>`;
  };
  const parts = sheets.map((rows) => {
    const lines = rows.map((cells, row) => {
      const content = cells.map((cell, column) => cellOf(cell, row, column)).join('');
      return `<row r="${row + 1}">${content}</row>`;
    });
    return `<worksheet ${NAMESPACE}><sheetData>${lines.join('')}</sheetData></worksheet>`;
  });
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const links = parts.map((_, index) =>
    relation(`r${index}`, 'worksheet', `worksheets/sheet${index + 1}.xml`),
  );
  const others = [
    relation('t', 'sharedStrings', 'sharedStrings.xml'),
    relation('s', 'styles', '/xl/styles.xml'),
  ];
  const listed = parts.map(
    (_, index) =>
      `<sheet name="S${index}" sheetId="${index + 7}" state="${states[index] ?? 'visible'}" r:id="r${index}"/>`,
  );
  return zipOf({
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook ${NAMESPACE} xmlns:r="${RELATIONS}"><workbookPr date1904="${is_1904 ? 1 : 0}"/><sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${[...links, ...others].join('')}</Relationships>`,
    'xl/sharedStrings.xml': `<sst ${NAMESPACE}>${texts.map((text) => `<si><t>${xml(text)}</t></si>`).join('')}</sst>`,
    'xl/styles.xml': `<styleSheet ${NAMESPACE}>${styles}</styleSheet>`,
    ...Object.fromEntries(parts.map((part, index) => [`xl/worksheets/sheet${index + 1}.xml`, part])),
  });
}
