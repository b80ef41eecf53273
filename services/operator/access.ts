import { hash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { readBody } from '../../shared/http/body';
import type { Limits } from '../../shared/http/rate-limit';
import type { HttpRequest } from '../../shared/http/request';
import type { PublicRoute } from '../../shared/http/route';
import { cookieIn, isOwnPage, SESSION_S, type Sessions, setCookie } from '../../shared/http/sessions';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';

const COOKIE = { name: 'catalog_operator', path: '/operator' };
const NOT_STORED = { 'Cache-Control': 'no-store' };
const credentialsBody = z.strictObject({ token: z.string() });

export interface AccessDeps {
  readonly sessions: Sessions;
  readonly limits: Limits;
}

/**
 * Decides who is an operator: a script with the token, or a browser with the cookie of a session that the token has begun.
 * A session stores the hash of the token, so it ends when the token changes.
 */
export class Access {
  private readonly content: string;

  constructor(
    private readonly token: string,
    private readonly deps: AccessDeps,
  ) {
    this.content = `operator ${hash('sha256', token)}`;
  }

  /**
   * Returns the headers of the answer, which renew the cookie of a session. Throws `unauthenticated` or `token_invalid` if
   * the request is not of an operator, `insufficient_permissions` for a write with the cookie from a page of another site.
   */
  async admit(req: HttpRequest): Promise<Readonly<Record<string, string>>> {
    const { authorization } = req.headers;
    if (authorization !== undefined) {
      const token = /^bearer +(.*)$/i.exec(authorization)?.[1] ?? '';
      if (isEqual(token, this.token)) return NOT_STORED;
      await this.countGuess(req);
      throw wrongToken();
    }
    const cookie = cookieIn(req, COOKIE);
    if (!cookie || (await this.deps.sessions.use(cookie)) !== this.content)
      throw new CatalogError('unauthenticated', {
        message: 'Send the token of CONSOLE_OPERATOR_TOKEN as a bearer token, or begin a session with it',
      });
    if (req.method !== 'GET' && req.method !== 'HEAD') assertOwnPage(req);
    return { ...NOT_STORED, ...setCookie(COOKIE, cookie, SESSION_S, req) };
  }

  /** Begins and ends sessions of browsers. */
  readonly route: PublicRoute = {
    path: '/operator/session',
    methods: ['POST', 'DELETE'],
    serve: async (req) => {
      assertOwnPage(req);
      const { sessions } = this.deps;
      if (req.method === 'DELETE') {
        await sessions.end(cookieIn(req, COOKIE));
        return { data: null, headers: { ...NOT_STORED, ...setCookie(COOKIE, '', 0, req) } };
      }
      await this.countGuess(req);
      const { token } = parseBody(credentialsBody, await readBody(req));
      if (!isEqual(token, this.token)) throw wrongToken();
      const cookie = await sessions.begin(this.content);
      const headers = { ...NOT_STORED, ...setCookie(COOKIE, cookie, SESSION_S, req) };
      return { status: 201, data: { expires_in: SESSION_S }, headers };
    },
  };

  private async countGuess(req: HttpRequest): Promise<void> {
    const { allowed, retry_after_s } = await this.deps.limits.takeSignIn(req, 'operator');
    if (!allowed) throw new CatalogError('rate_limited', { retry_after_s });
  }
}

const wrongToken = (): CatalogError =>
  new CatalogError('token_invalid', { message: 'This is not the token of CONSOLE_OPERATOR_TOKEN' });

function assertOwnPage(req: HttpRequest): void {
  if (isOwnPage(req)) return;
  throw new CatalogError('insufficient_permissions', {
    message: 'Only a page of this service may send this with a cookie',
  });
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
