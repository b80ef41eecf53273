import type { BrokenRow, FileRecord } from './columns';
import { ImportFileError, ROW_LENGTH_MAX, readText } from './text-file';
import { type XmlParser, xmlParser } from './xml';

const NAMES = [
  'id',
  'title',
  'description',
  'link',
  'image_link',
  'additional_image_link',
  'availability',
  'availability_date',
  'price',
  'sale_price',
  'sale_price_effective_date',
  'google_product_category',
  'product_type',
  'brand',
  'gtin',
  'mpn',
  'condition',
  'item_group_id',
  'color',
  'size',
  'material',
  'pattern',
  'gender',
  'age_group',
  'shipping_weight',
  'quantity_to_sell_on_facebook',
] as const;

/** The attributes of Google's and Meta's feeds that an import reads. In the text form, names may have spaces. */
export const GOOGLE_COLUMNS = Object.fromEntries(
  NAMES.map((name): readonly unknown[] => [name, [name, name.replaceAll('_', ' '), `g:${name}`]]),
) as Readonly<Record<(typeof NAMES)[number], readonly string[]>>;

/** What RSS and Atom call an attribute that has no element of Google. */
const PLAIN_NAMES: Readonly<Record<string, string>> = {
  id: 'id',
  title: 'title',
  link: 'link',
  description: 'description',
  summary: 'description',
  content: 'description',
};
/** An attribute that an item may have several times. */
const LISTED = 'additional_image_link';
/** An item that is being read: its values by name. */
interface OpenItem {
  readonly line: number;
  readonly depth: number;
  readonly values: Map<string, string>;
  /** The values of the elements of RSS and Atom. An element of Google with the same name replaces the value. */
  readonly plain: Map<string, string>;
}

/**
 * Reads the items of an XML feed, RSS or Atom, as records. The first record is the header. It is the same array for the whole
 * file, and gets the names of further elements when they occur. A part of the file that is no XML ends the reading, with a
 * `BrokenRow`. Throws `ImportFileError` if the file has no items.
 */
export async function* readFeed(path: string): AsyncGenerator<FileRecord | BrokenRow> {
  const header: string[] = [...NAMES];
  const items: FileRecord[] = [];
  // A row is found by its line. The items of a line that has several get a number each, as if each had a line.
  let next_line = 1;
  const parser = feedParser(header, (item) => {
    const line = Math.max(item.line, next_line);
    items.push({ ...item, line });
    next_line = line + 1;
  });
  let has_items = false;
  let fault: string | undefined;
  const parse = (text: string | null): void => {
    try {
      if (text === null) parser.close();
      else parser.write(text);
    } catch (error) {
      fault = (error as Error).message;
    }
  };
  yield { record: header, line: 1 };
  for await (const text of readText(path)) {
    parse(text);
    has_items ||= items.length > 0;
    yield* items.splice(0);
    if (fault !== undefined) break;
  }
  const has_several = next_line > parser.line + 1;
  const line = has_several ? next_line : parser.line;
  if (fault === undefined) parse(null);
  if (fault !== undefined) {
    const broken = `${fault}; nothing was read from this line on`;
    if (!has_items) throw new ImportFileError(`The file ${path} cannot be read. Line ${line}: ${fault}.`);
    yield { line, broken, to_line: null };
  } else if (!has_items)
    throw new ImportFileError(`The file ${path} is no feed: it has no <item> (RSS) and no <entry> (Atom).`);
}

/** Returns a parser that calls `add` with each item. */
function feedParser(header: string[], add: (item: FileRecord) => void): XmlParser {
  let item: OpenItem | undefined;
  let text = '';
  /** Where the item begins. Outside an item: where the last tag ends. */
  let start = 0;
  const assertLength = (): void => {
    if (parser.position - start > ROW_LENGTH_MAX)
      throw new Error(`an item is longer than ${ROW_LENGTH_MAX / 1e6} MB, or does not end`);
  };
  const parser = xmlParser({
    open: (name, { href }, depth) => {
      if (!item) start = parser.position;
      assertLength();
      if (name === 'item' || name === 'entry')
        item ??= { line: parser.line, depth, values: new Map(), plain: new Map() };
      else if (item && name === 'link' && href !== undefined && !item.plain.has('link'))
        item.plain.set('link', href);
      // The texts of nested elements are a value of the element around them.
      if (item === undefined || depth <= item.depth + 1) text = '';
    },
    text: (part) => {
      assertLength();
      text += part;
    },
    close: (name, depth) => {
      if (item && depth === item.depth) {
        add({ record: recordOf(item, header), line: item.line });
        item = undefined;
        start = parser.position;
      } else if (item && depth === item.depth + 1) setValue(item, name, text);
      else if (!item) text = '';
    },
  });
  return parser;
}

function setValue({ values, plain }: OpenItem, name: string, text: string): void {
  const value = text.trim();
  const google = name.startsWith('g:') ? name.slice(2) : undefined;
  const target = google === undefined ? plain : values;
  const key = google ?? PLAIN_NAMES[name] ?? name;
  const before = target.get(key);
  if (before === undefined || before === '') target.set(key, value);
  else if (key === LISTED) target.set(key, `${before},${value}`);
}

function recordOf({ values, plain }: OpenItem, header: string[]): string[] {
  const all = new Map([...plain, ...values]);
  for (const name of all.keys()) if (header.length < NAMES_MAX && !header.includes(name)) header.push(name);
  return header.map((name) => all.get(name) ?? '');
}

/** Further names are not counted. */
const NAMES_MAX = 1_000;
