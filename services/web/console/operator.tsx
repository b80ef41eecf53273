import { createHmac, hash, randomUUID, timingSafeEqual } from 'node:crypto';
import { errorCatalogue } from '../../../shared/api/error-catalogue';
import { readForm } from '../../../shared/http/body';
import type { Limits } from '../../../shared/http/rate-limit';
import type { HttpRequest } from '../../../shared/http/request';
import type { PublicRoute, TextAnswer } from '../../../shared/http/route';
import { CatalogError } from '../../../shared/kernel/errors';
import * as frame from './frame';
import { SignIn } from './layout';
import { HOME, messageOf, OPERATOR, type PageDeps } from './operator-frame';
import { OPERATOR_PAGES, statusOf } from './operator-pages';
import { plotAssets } from './plots';
import { SESSION_MINUTES, type Sessions } from './sessions';

export interface OperatorDeps extends PageDeps {
  readonly sessions: Sessions;
  readonly limits: Limits;
}

const COOKIE = { name: 'catalog_operator', path: HOME };

/**
 * Builds the pages for operators; none without a `token`. The cookie of an operator's session is signed with the token, so the
 * session ends when the token changes. Browsers do not send the cookie to the pages of merchants. The pages of operators do
 * not read the cookie of merchants.
 */
export function operatorRoutes(deps: OperatorDeps, token: string | undefined): PublicRoute[] {
  if (token === undefined) return [];
  const session = new Session(token, deps);
  const route = (path: string, serve: PublicRoute['serve']): PublicRoute => ({
    path: HOME + path,
    takes_forms: true,
    serve,
  });
  const open = (path: string, serve: (req: HttpRequest) => Promise<TextAnswer>) =>
    route(path, async (req) =>
      req.method === 'POST' && frame.isOwnForm(req) ? serve(req) : frame.redirect(HOME),
    );
  const pages = Object.entries(OPERATOR_PAGES).map(([path, page]) =>
    route(path, async (req) => {
      if (!(await session.has(req))) return signInPage();
      const is_form = req.method === 'POST';
      if (is_form && !frame.isOwnForm(req)) return frame.refuse(OPERATOR);
      const form = is_form ? await readForm(req) : undefined;
      const query = new URL(req.url, 'http://console').searchParams;
      const answer = await page({ deps, query, form }).catch((error: unknown) => {
        if (!(error instanceof CatalogError)) throw error;
        const { status, message } = errorCatalogue[error.condition];
        return messageOf('This did not work', error.message || message, status);
      });
      return frame.show(OPERATOR, answer, query);
    }),
  );
  return [
    open('/sign-in', (req) => session.signIn(req)),
    open('/sign-out', (req) => session.signOut(req)),
    ...pages,
    ...Object.values(plotAssets()),
    route('/status', async (req) => {
      const status = (await session.has(req)) ? await statusOf(deps) : undefined;
      const body = JSON.stringify(status ?? [], (_, value) =>
        typeof value === 'bigint' ? Number(value) : value,
      );
      return { status: status ? 200 : 401, body, headers: frame.HEADERS };
    }),
  ];
}

function signInPage(content: Partial<frame.PageContent> = {}): TextAnswer {
  const texts = {
    heading: 'Operator',
    label: 'Token',
    name: 'token',
    action: `${HOME}/sign-in`,
    note: 'Sign in with the token of CONSOLE_OPERATOR_TOKEN.',
  };
  const body = <SignIn {...texts} />;
  return frame.render({ ...OPERATOR, sections: [] }, { title: 'Sign in', body, ...content });
}

class Session {
  constructor(
    private readonly token: string,
    private readonly deps: OperatorDeps,
  ) {}

  async signIn(req: HttpRequest): Promise<TextAnswer> {
    const { sessions, limits, system } = this.deps;
    const attempt = await limits.takeSignIn(req, 'operator');
    if (!attempt.allowed) return signInPage(frame.tooManyAttempts(attempt));
    const sent = (await readForm(req)).get('token') ?? '';
    if (!isEqual(sent, this.token)) {
      const text = 'This is not the token of CONSOLE_OPERATOR_TOKEN.';
      return signInPage({ notice: { text, is_bad: true }, status: 403 });
    }
    const seconds = SESSION_MINUTES * 60;
    const until = `${Math.floor(system.now() / 1_000) + seconds}-${randomUUID()}`;
    const value = `${until}.${this.signatureOf(until)}`;
    await sessions.begin('', value);
    return frame.redirect(HOME, { 'Set-Cookie': frame.cookieOf(COOKIE, value, seconds, req) });
  }

  async signOut(req: HttpRequest): Promise<TextAnswer> {
    await this.deps.sessions.end(frame.cookieIn(req, COOKIE) ?? '');
    return frame.redirect(HOME, { 'Set-Cookie': frame.cookieOf(COOKIE, '', 0, req) });
  }

  async has(req: HttpRequest): Promise<boolean> {
    const { sessions, system } = this.deps;
    const value = frame.cookieIn(req, COOKIE) ?? '';
    const [until = '', signature = ''] = value.split('.');
    const is_valid = isEqual(signature, this.signatureOf(until));
    return (
      is_valid &&
      Number.parseInt(until, 10) * 1_000 > system.now() &&
      (await sessions.read(value)) !== undefined
    );
  }

  private signatureOf(until: string): string {
    return createHmac('sha256', this.token).update(`operator ${until}`).digest('base64url');
  }
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
