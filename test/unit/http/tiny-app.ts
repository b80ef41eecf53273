import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AppOptions, buildApp } from '../../../shared/http/app';
import type { Principal } from '../../../shared/http/request';
import type { Route } from '../../../shared/http/route';
import { parseConfig } from '../../../shared/kernel/config';
import { CatalogError, type Condition } from '../../../shared/kernel/errors';
import type { AccountId, ApiKeyId, StoreId } from '../../../shared/kernel/ids';
import { createLogger } from '../../../shared/kernel/log';
import { realSystem } from '../../../shared/kernel/system';
import type { RateLimiter, Tier, Verdict } from '../../../shared/ports/rate-limiter';
import { within } from '../../support/wait-for';

export const STORE = '01890a5d-ac96-774b-bcce-b302099a8057' as StoreId;
export const KEY = '01890a5d-ac96-774b-bcce-b302099a8058' as ApiKeyId;
export const ITEM = '01890a5d-ac96-774b-bcce-b302099a8059';

export const principal = (changes: Partial<Principal> = {}): Principal => ({
  api_key_id: KEY,
  account_id: '01890a5d-ac96-774b-bcce-b302099a8050' as AccountId,
  key_type: 'secret',
  environment: 'live',
  stores: [STORE],
  permissions: ['read:publications', 'write:publications'],
  ...changes,
});

/** Accepts the tokens `secret` and `public`. Any other token is the condition to reject with. */
const fakeAuthenticator = {
  authenticate: async (bearer: string): Promise<Principal> => {
    if (bearer === 'secret' || bearer === 'public') {
      const read_only = bearer === 'public' ? { permissions: ['read:publications' as const] } : {};
      return principal({ key_type: bearer, ...read_only });
    }
    throw new CatalogError(bearer as Condition);
  },
};

/** Limits by burst and never refills its buckets. */
export class CountingLimiter implements RateLimiter {
  /** Number of tokens taken, by bucket. */
  readonly taken = new Map<string, number>();

  async take(subject: string, tier: Tier): Promise<Verdict> {
    const before = this.taken.get(subject) ?? 0;
    const allowed = before < tier.burst;
    if (allowed) this.taken.set(subject, before + 1);
    const remaining = Math.min(tier.limit, tier.burst - before - (allowed ? 1 : 0));
    const reset_s = Math.ceil(Date.now() / 1000) + 60;
    return { allowed, limit: tier.limit, remaining, reset_s, retry_after_s: allowed ? 0 : 7 };
  }

  async close(): Promise<void> {}
}

export const get = (path: string, handler: Route['handler']): Route => ({
  method: 'GET',
  path,
  permission: 'read:publications',
  handler,
});

export const write = (
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  handler: Route['handler'],
): Route => ({ method, path, permission: 'write:publications', handler });

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read fields of any response
  readonly body: any;
}

export interface TinyApp {
  readonly port: number;
  readonly limiter: CountingLimiter;
  /** All log lines. */
  readonly lines: string[];
  /** Sends a request. The path is sent unchanged; `fetch` would normalize it. */
  request(
    method: string,
    path: string,
    options?: { token?: string; headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<RawReply>;
  close(): Promise<void>;
}

export type TinyOptions = Partial<AppOptions> & { environment?: Record<string, string> };

export async function startTinyApp({ environment = {}, ...options }: TinyOptions = {}): Promise<TinyApp> {
  const limiter = new CountingLimiter();
  const lines: string[] = [];
  const log = createLogger({ level: 'trace', destination: { write: (line) => lines.push(line) } });
  const app = buildApp({
    config: parseConfig(environment),
    log,
    system: realSystem,
    limiter,
    authenticator: fakeAuthenticator,
    routes: [],
    ...options,
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    limiter,
    lines,
    request: (method, path, options = {}) => send(port, method, path, options),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(
  port: number,
  method: string,
  path: string,
  options: { token?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<RawReply> {
  const authorization = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  const length =
    options.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(options.body)) };
  const headers = { connection: 'close', ...length, ...authorization, ...options.headers };
  const reply = new Promise<RawReply>((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString('utf8');
        const json =
          /json/.test(response.headers['content-type'] ?? '') &&
          response.headers['content-encoding'] === undefined;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text,
          body: json && text !== '' ? JSON.parse(text) : {},
        });
      });
    });
    request.on('error', reject);
    request.end(options.body);
  });
  return within(reply, `the response to ${method} ${path}`);
}
