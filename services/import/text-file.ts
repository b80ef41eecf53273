import { createReadStream } from 'node:fs';

/** More than any row needs. Bounds the memory for a file without line breaks, and for a quote that is never closed. */
export const ROW_LENGTH_MAX = 4_000_000;

/** Thrown if the file cannot be imported at all. The command line prints the message unchanged. */
export class ImportFileError extends Error {
  override readonly name = 'ImportFileError';
}

/** Throws `ImportFileError` if a file has more rows than allowed. Lines of a value are no rows, nor is the header. */
export function assertRows(path: string, rows: number, rows_max = Number.POSITIVE_INFINITY): void {
  if (rows > rows_max)
    throw new ImportFileError(
      `The file ${path} has more than ${rows_max} rows. Split it, or import it with the command line.`,
    );
}

/** Converts a common error of the operating system into an `ImportFileError`. Returns other errors unchanged. */
function fileError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const reason = {
    ENOENT: 'the file does not exist',
    EISDIR: 'it is a folder',
    EACCES: 'permission denied',
  }[code ?? ''];
  return reason === undefined ? error : new ImportFileError(`Cannot read ${path}: ${reason}.`);
}

/**
 * Reads a text in UTF-8, without its byte order mark and with `\n` line breaks, so that lines are counted as in an editor.
 * Throws `ImportFileError` if the file is not UTF-8 or cannot be read.
 */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pending = '';
  try {
    for await (const chunk of createReadStream(path)) {
      const text = pending + decoder.decode(chunk as Buffer, { stream: true });
      // The `\n` of a `\r\n` may be in the next chunk.
      pending = text.endsWith('\r') ? '\r' : '';
      yield text.slice(0, text.length - pending.length).replace(/\r\n?/g, '\n');
    }
    yield (pending + decoder.decode()).replace(/\r/g, '\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw fileError(error, path);
    throw new ImportFileError(
      `The file ${path} is not UTF-8 text. Save it as UTF-8 and run the import again.`,
    );
  }
}

/** Reads the lines that are not blank, in order. `line` counts from 1. Throws `ImportFileError` as `readText` does. */
export async function* readLines(
  path: string,
): AsyncGenerator<{ readonly line: number; readonly text: string }> {
  let line = 0;
  let rest = '';
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    if (rest.length > ROW_LENGTH_MAX)
      throw new ImportFileError(
        `Line ${line + lines.length + 1} of ${path} is longer than ${ROW_LENGTH_MAX / 1e6} MB. Is it JSON Lines?`,
      );
    for (const each of lines) {
      line++;
      if (each.trim() !== '') yield { line, text: each };
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, text: rest };
}
