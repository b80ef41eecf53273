import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of a test's own; `remove()` when done. */
export interface TempDir {
  readonly path: string;
  remove(): void;
}

export function makeTempDir(prefix = 'catalog-test-'): TempDir {
  const path = mkdtempSync(join(tmpdir(), prefix));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 10 }) };
}

/** Runs `story` with a folder of its own and removes it after, also where the story fails. */
export async function withTempDir<Result>(story: (path: string) => Promise<Result>): Promise<Result> {
  const directory = makeTempDir();
  try {
    return await story(directory.path);
  } finally {
    directory.remove();
  }
}
