import sax from 'sax';

/** More levels than any format has that an import reads. */
const DEPTH_MAX = 32;
/** More characters than a tag with its attributes has in any format that an import reads. */
const TAG_LENGTH_MAX = 100_000;

interface XmlHandlers {
  /** `name` has its prefix. */
  readonly open: (name: string, attributes: Readonly<Record<string, string>>, depth: number) => void;
  readonly text: (text: string) => void;
  readonly close: (name: string, depth: number) => void;
}

/** A parser of XML that gets its text in pieces. Its methods throw for an invalid text. */
export interface XmlParser {
  /** The line, counted from 1, that is being parsed. */
  readonly line: number;
  /** The number of characters that were parsed. */
  readonly position: number;
  write(text: string): void;
  /** Checks that the text is complete. */
  close(): void;
}

/**
 * Returns a parser that calls the handlers. Only the predefined entities of XML are read, and those of HTML. A document type
 * with declarations is refused, so that a small text cannot become a large one.
 */
export function xmlParser({ open, text, close }: XmlHandlers): XmlParser {
  const parser = sax.parser(true, {});
  let depth = 0;
  parser.onerror = (error) => {
    const [fault] = error.message.split('\n');
    throw new Error(
      fault!.replace(/^Max buffer .*/, 'a value, a name or a comment of its XML is longer than 64 kB'),
    );
  };
  parser.ondoctype = (doctype) => {
    if (/\[|<!/.test(doctype)) throw new Error('a document type with declarations is not read');
  };
  // The attributes of a tag are in memory until the tag ends.
  parser.onattribute = () => {
    if (parser.position - parser.startTagPosition > TAG_LENGTH_MAX)
      throw new Error(`a tag with its attributes is longer than ${TAG_LENGTH_MAX / 1e3} kB`);
  };
  parser.ontext = text;
  parser.oncdata = text;
  parser.onopentag = ({ name, attributes }) => {
    if (++depth > DEPTH_MAX) throw new Error(`more than ${DEPTH_MAX} elements are inside each other`);
    open(name, attributes as Record<string, string>, depth);
  };
  parser.onclosetag = (name) => close(name, depth--);
  return {
    get line() {
      return parser.line + 1;
    },
    get position() {
      return parser.position;
    },
    write: (piece) => void parser.write(piece),
    close: () => void parser.close(),
  };
}
