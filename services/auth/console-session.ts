import { type ApiKey, keyStatus } from '../../shared/catalog/api-key/api-key';
import { readBody } from '../../shared/http/body';
import type { Limits } from '../../shared/http/rate-limit';
import type { HttpRequest } from '../../shared/http/request';
import type { Answer, PublicRoute } from '../../shared/http/route';
import { cookieIn, isOwnPage, SESSION_S, type Sessions, setCookie } from '../../shared/http/sessions';
import { CatalogError } from '../../shared/kernel/errors';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { type AuthOptions, findUsableKey, issueToken } from './endpoints';

const COOKIE = { name: 'catalog_console', path: '/console/session' };
/** How long a page can still use its token after its session has ended in another window. */
const TOKEN_S = 300;

export interface ConsoleSessionOptions extends AuthOptions {
  readonly sessions: Sessions;
  readonly limits: Limits;
}

/**
 * Builds the routes of the console's session (docs/console.md#sessions). A sign-in exchanges a secret key for a cookie that
 * scripts cannot read. The page exchanges the cookie for short-lived tokens. The session stores the id of the key, not
 * the key.
 */
export function consoleSessionRoutes(options: ConsoleSessionOptions): PublicRoute[] {
  const { authenticator, sessions, limits } = options;
  const route = (path: string, handle: (req: HttpRequest) => Promise<Answer>): PublicRoute => ({
    path: `/console/session${path}`,
    methods: ['POST'],
    serve: (req) => {
      if (!isOwnPage(req))
        throw new CatalogError('insufficient_permissions', {
          message: 'Only pages of the console may do this',
        });
      return handle(req);
    },
  });
  const opened = (req: HttpRequest, cookie: string, key: ApiKey): Answer => ({
    data: issueToken(options, key, TOKEN_S),
    headers: { ...NOT_STORED, ...setCookie(COOKIE, cookie, SESSION_S, req) },
  });
  /** Browsers log a 401 as an error. To have no session is none, so the answer is null. */
  const closed = (req: HttpRequest): Answer => ({
    data: null,
    headers: { ...NOT_STORED, ...setCookie(COOKIE, '', 0, req) },
  });
  return [
    route('', async (req) => {
      const { allowed, retry_after_s } = await limits.takeSignIn(req, 'console');
      if (!allowed) throw new CatalogError('rate_limited', { retry_after_s });
      const { key: text } = await readBody(req);
      const key = await findUsableKey(authenticator, typeof text === 'string' ? text.trim() : '');
      if (key.type !== 'secret')
        throw new CatalogError('insufficient_permissions', { message: 'A secret key begins with sk_' });
      return opened(req, await sessions.begin(key.id), key);
    }),
    route('/token', async (req) => {
      const cookie = cookieIn(req, COOKIE);
      const id = cookie && (await sessions.use(cookie));
      const key = id ? await authenticator.findKeyById(id as ApiKeyId) : undefined;
      const is_usable = key && keyStatus(key, options.system.now()) === 'active';
      return is_usable ? opened(req, cookie, key) : closed(req);
    }),
    route('/end', async (req) => {
      await sessions.end(cookieIn(req, COOKIE));
      return closed(req);
    }),
  ];
}

const NOT_STORED = { 'Cache-Control': 'no-store' };
