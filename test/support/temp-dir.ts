import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A temporary folder. The test calls `remove()` when it is done. */
export interface TempDir {
  readonly path: string;
  remove(): void;
}

/** Makes a folder in `parent`, by default in TEST_DATA_DIR, which jest.config.js sets, or in the system's temporary folder. */
export function makeTempDir(
  prefix = 'catalog-test-',
  parent = process.env.TEST_DATA_DIR || tmpdir(),
): TempDir {
  const path = mkdtempSync(join(parent, prefix));
  return { path, remove: () => removeFolder(path) };
}

const REMOVALS_MAX = 20;

/**
 * Removes a folder into which a process may still write: `rmSync` fails if a file is added while it runs, also with
 * `maxRetries`, because it removes the files of a folder only once.
 */
function removeFolder(path: string): void {
  for (let removals = 1; existsSync(path); removals++)
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || removals === REMOVALS_MAX) throw error;
    }
}

/** Runs `story` with a temporary folder, which is removed even if the story fails. */
export async function withTempDir<Result>(
  story: (path: string) => Promise<Result>,
  parent?: string,
): Promise<Result> {
  const directory = makeTempDir(undefined, parent);
  try {
    return await story(directory.path);
  } finally {
    directory.remove();
  }
}
