import { hash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How long a session lasts: the longest lifetime of a token. */
export const SESSION_MINUTES = 60;

/**
 * The sessions of merchants and operators that have begun and not ended. Each has an empty file in `folder`, so that every
 * HTTP process knows it. The name of the file is the hash of the cookie, so that the folder contains no secret.
 */
export class Sessions {
  constructor(private readonly folder: string) {}

  /** Begins the session with this value of its cookie. Removes the files of sessions that have expired. */
  async begin(cookie: string): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const expired_ms = Date.now() - SESSION_MINUTES * 60_000;
    for (const name of await readdir(this.folder)) {
      const file = await stateOf(join(this.folder, name));
      if (file && file.mtimeMs < expired_ms) await rm(join(this.folder, name), { force: true });
    }
    await writeFile(this.pathOf(cookie), '', { mode: 0o600 });
  }

  async has(cookie: string): Promise<boolean> {
    return (await stateOf(this.pathOf(cookie))) !== undefined;
  }

  async end(cookie: string): Promise<void> {
    await rm(this.pathOf(cookie), { force: true });
  }

  private pathOf(cookie: string): string {
    return join(this.folder, hash('sha256', cookie, 'hex'));
  }
}

/** Returns the state of a file, undefined if there is no file. */
async function stateOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
