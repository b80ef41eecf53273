import { hash } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientAddress } from '../../../shared/http/rate-limit';
import type { HttpRequest } from '../../../shared/http/request';
import type { Config } from '../../../shared/kernel/config';
import type { RateLimiter } from '../../../shared/ports/rate-limiter';

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
      const file = await stat(join(this.folder, name)).catch(() => undefined);
      if (file && file.mtimeMs < expired_ms) await rm(join(this.folder, name), { force: true });
    }
    await writeFile(this.pathOf(cookie), '', { mode: 0o600 });
  }

  async has(cookie: string): Promise<boolean> {
    return (await stat(this.pathOf(cookie)).catch(() => undefined)) !== undefined;
  }

  async end(cookie: string): Promise<void> {
    await rm(this.pathOf(cookie), { force: true });
  }

  private pathOf(cookie: string): string {
    return join(this.folder, hash('sha256', cookie, 'hex'));
  }
}

export interface AttemptsOptions {
  readonly config: Pick<Config, 'RATE_LIMIT_AUTH' | 'TRUST_PROXY'>;
  readonly limiter: RateLimiter;
}

/** Limits attempts to sign in like requests to `/auth/*`, by the address of the visitor. */
export class Attempts {
  private readonly addressOf: (req: HttpRequest) => string;

  constructor(private readonly options: AttemptsOptions) {
    this.addressOf = clientAddress(options.config.TRUST_PROXY);
  }

  /** Counts an attempt on the pages of this name. Returns false if there were too many. A failure of the limiter allows it. */
  async take(req: HttpRequest, pages: 'console' | 'operator'): Promise<boolean> {
    const { config, limiter } = this.options;
    const { per_second, burst } = config.RATE_LIMIT_AUTH;
    const tier = { burst, refill_per_s: per_second, limit: per_second, per_day: null };
    const taken = await limiter.take(`auth:${pages}:ip:${this.addressOf(req)}`, tier).catch(() => undefined);
    return taken?.allowed !== false;
  }
}
