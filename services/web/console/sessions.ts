import { createCipheriv, createDecipheriv, createHash, hash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ifExists } from '../../../shared/kernel/if-exists';

/** How long a session lasts: the longest lifetime of a token. */
export const SESSION_MINUTES = 60;

/** Each file has a key of its own, which encrypts once. So all of them can use the same nonce. */
const NONCE = Buffer.alloc(12);
const TAG_BYTES = 16;

/**
 * Stores the sessions of merchants and operators. Each session has a file in `folder`, so that every HTTP process knows it.
 * The name of the file is a hash of the cookie. The content, such as the token of the session, is encrypted with another hash
 * of the cookie. So neither the folder nor a cookie whose session has ended gives access.
 */
export class Sessions {
  constructor(private readonly folder: string) {}

  /** Begins a session and returns its cookie. Removes the files of sessions that have expired. */
  async begin(content: string, cookie = randomBytes(32).toString('base64url')): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const expired_ms = Date.now() - SESSION_MINUTES * 60_000;
    for (const name of await readdir(this.folder)) {
      const file = await ifExists(stat(join(this.folder, name)));
      if (file && file.mtimeMs < expired_ms) await rm(join(this.folder, name), { force: true });
    }
    const cipher = createCipheriv('aes-256-gcm', keyOf(cookie), NONCE);
    const encrypted = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()]);
    await writeFile(this.pathOf(cookie), Buffer.concat([cipher.getAuthTag(), encrypted]), { mode: 0o600 });
    return cookie;
  }

  /** Returns the content of the session, undefined if there is no session with this cookie. */
  async read(cookie: string): Promise<string | undefined> {
    const file = await ifExists(readFile(this.pathOf(cookie)));
    if (file === undefined) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', keyOf(cookie), NONCE);
    decipher.setAuthTag(file.subarray(0, TAG_BYTES));
    return decipher.update(file.subarray(TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  }

  async end(cookie: string): Promise<void> {
    await rm(this.pathOf(cookie), { force: true });
  }

  private pathOf(cookie: string): string {
    return join(this.folder, hash('sha256', cookie, 'hex'));
  }
}

const keyOf = (cookie: string): Buffer => createHash('sha256').update(`content ${cookie}`).digest();
