import { stat } from 'node:fs/promises';
import { fileError, type ImportFile, ImportFileError, type ImportItem } from './item';
import { parseJsonLine } from './jsonl';
import { readLines } from './read-lines';

/**
 * A file of JSON Lines, or a pipe of them. A file is read once before for the number of its lines.
 * Throws `ImportFileError` where it cannot be read or is empty.
 */
export async function openJsonlFile(path: string, currency: string): Promise<ImportFile> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(error, path);
  });
  if (!found.isFile()) return { total: null, items: () => readItems(path, currency) };
  let total = 0;
  for await (const _line of readLines(path)) total++;
  if (total === 0) throw new ImportFileError(`${path} is empty`);
  return { total, items: () => readItems(path, currency) };
}

async function* readItems(path: string, currency: string): AsyncGenerator<ImportItem[]> {
  for await (const { line, text } of readLines(path)) {
    yield text === undefined
      ? [{ kind: 'failed', line, external_id: null, about: 'publication', reason: 'not UTF-8 text' }]
      : parseJsonLine(text, line, currency);
  }
}
