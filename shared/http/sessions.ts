import { createCipheriv, createDecipheriv, createHash, hash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ifExists } from '../kernel/if-exists';
import { type HttpRequest, headerOf, isSecure } from './request';

/** A session ends when it was not used for this long. */
export const SESSION_S = 12 * 3_600;
/** A use of a session is recorded at most this often, because each record writes to the disk. */
const USE_EVERY_MS = 60_000;

/** Each file has a key of its own, which encrypts once. So all of them can use the same nonce. */
const NONCE = Buffer.alloc(12);
const TAG_BYTES = 16;

/**
 * Stores the sessions of merchants and operators. Each session has a file in `folder`, so that every HTTP process knows it.
 * The name of the file is a hash of the cookie. The content is encrypted with another hash of the cookie. So neither the
 * folder nor a cookie whose session has ended gives access.
 */
export class Sessions {
  constructor(private readonly folder: string) {}

  /** Begins a session and returns its cookie. Removes the files of sessions that have ended. */
  async begin(content: string): Promise<string> {
    const cookie = randomBytes(32).toString('base64url');
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      if ((await ageOf(path)) > SESSION_S * 1_000) await rm(path, { force: true });
    }
    const cipher = createCipheriv('aes-256-gcm', keyOf(cookie), NONCE);
    const encrypted = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()]);
    await writeFile(this.pathOf(cookie), Buffer.concat([cipher.getAuthTag(), encrypted]), { mode: 0o600 });
    return cookie;
  }

  /**
   * Returns the content of the session and renews the session. Returns undefined if there is no session with this cookie, or
   * if its file is damaged.
   */
  async use(cookie: string): Promise<string | undefined> {
    const path = this.pathOf(cookie);
    const age_ms = await ageOf(path);
    if (age_ms > SESSION_S * 1_000) return undefined;
    const file = await ifExists(readFile(path));
    if (file === undefined) return undefined;
    const now = new Date();
    if (age_ms > USE_EVERY_MS) await ifExists(utimes(path, now, now));
    try {
      const decipher = createDecipheriv('aes-256-gcm', keyOf(cookie), NONCE);
      decipher.setAuthTag(file.subarray(0, TAG_BYTES));
      return decipher.update(file.subarray(TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }

  async end(cookie: string): Promise<void> {
    await rm(this.pathOf(cookie), { force: true });
  }

  private pathOf(cookie: string): string {
    return join(this.folder, hash('sha256', cookie, 'hex'));
  }
}

/** Returns the time since the file was written or renewed; 0 if there is no file. */
async function ageOf(path: string): Promise<number> {
  const file = await ifExists(stat(path));
  return file ? Date.now() - file.mtimeMs : 0;
}

const keyOf = (cookie: string): Buffer => createHash('sha256').update(`content ${cookie}`).digest();

/** Where browsers keep the name of a session. They send the cookie to `path` and the paths below it only. */
export interface SessionCookie {
  readonly name: string;
  readonly path: string;
}

/** Returns the header that sets the cookie. 0 seconds delete the cookie. */
export function setCookie({ name, path }: SessionCookie, value: string, seconds: number, req: HttpRequest) {
  const secure = isSecure((header) => headerOf(req, header)) ? '; Secure' : '';
  const cookie = `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  return { 'Set-Cookie': cookie };
}

export function cookieIn({ headers }: HttpRequest, { name }: SessionCookie): string {
  const cookies = (headers.cookie ?? '').split('; ');
  return cookies.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** Whether a page of this service sent the request. Browsers say which page sends a POST, and scripts cannot change it. */
export function isOwnPage({ headers }: HttpRequest): boolean {
  const { origin, host } = headers;
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}
