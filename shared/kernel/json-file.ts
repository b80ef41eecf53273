import { open, readFile, rename } from 'node:fs/promises';
import type { z } from 'zod';
import { ifExists } from './if-exists';

/** Only the owner may read the files: they contain API keys, or data of merchants. */
const MODE = 0o600;

/**
 * Reads a file of JSON. Returns undefined if it does not exist. Throws if its content is invalid, so that it is never
 * overwritten. `what` says in the error what was expected.
 */
export async function readJsonFile<T>(
  path: string,
  schema: z.ZodType<T>,
  what: string,
): Promise<T | undefined> {
  const text = await ifExists(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Error(`invalid file ${path}: expected the JSON of ${what}. Remove the file and restart.`);
  }
}

/** Replaces a file atomically, also in case of a power failure: writes and syncs a new file, then renames it. */
export async function replaceJsonFile(path: string, content: object): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  const file = await open(draft, 'w', MODE);
  try {
    await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
