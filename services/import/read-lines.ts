import { createReadStream } from 'node:fs';
import { fileError, ImportFileError } from './item';

/** Beyond what any row needs; keeps a file that has no lines from filling the memory. */
const LINE_BYTES_MAX = 4_000_000;
const NEWLINE = 0x0a;

/** A line's text without its end, or undefined where it is not UTF-8. `line` counts from 1. */
export interface Line {
  readonly line: number;
  readonly text: string | undefined;
}

/** Every line that is not blank, in order. Throws `ImportFileError` where the file cannot be read. */
export async function* readLines(path: string): AsyncGenerator<Line> {
  let line = 0;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path)) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
        yield* textOf(rest.subarray(start, end), ++line);
        start = end + 1;
      }
      rest = rest.subarray(start);
      if (rest.length > LINE_BYTES_MAX)
        throw new ImportFileError(`${path}: line ${line + 1} is longer than ${LINE_BYTES_MAX / 1e6} MB`);
    }
  } catch (error) {
    throw fileError(error, path);
  }
  yield* textOf(rest, line + 1);
}

function* textOf(bytes: Buffer, line: number): Generator<Line> {
  let text: string;
  try {
    // Takes a byte order mark off by itself.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    yield { line, text: undefined };
    return;
  }
  const trimmed = text.trim();
  if (trimmed !== '') yield { line, text: trimmed };
}
