import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { readForm } from '../../../shared/http/body';
import { clientAddress } from '../../../shared/http/rate-limit';
import type { HttpRequest } from '../../../shared/http/request';
import type { PublicRoute, TextAnswer } from '../../../shared/http/route';
import type { Config } from '../../../shared/kernel/config';
import { CatalogError } from '../../../shared/kernel/errors';
import type { RateLimiter } from '../../../shared/ports/rate-limiter';
import * as frame from './frame';
import { HOME, messageOf, OPERATOR, type PageDeps } from './operator-frame';
import { OPERATOR_PAGES, statusOf } from './operator-pages';
import { type Notice, SignIn } from './pages';
import { plotAssets } from './plots';

export interface OperatorDeps extends PageDeps {
  readonly config: Pick<Config, 'RATE_LIMIT_AUTH' | 'TRUST_PROXY'>;
  readonly limiter: RateLimiter;
}

const COOKIE = { name: 'catalog_operator', path: HOME };

/**
 * Builds the pages for operators; none without a `token`. The session is a cookie of its own, signed with the token, so it
 * ends when the token changes, and every HTTP process accepts it. It is not sent to the pages of merchants, and theirs is
 * not read here.
 */
export function operatorRoutes(deps: OperatorDeps, token: string | undefined): PublicRoute[] {
  if (token === undefined) return [];
  const session = new Session(token, deps);
  const route = (path: string, serve: PublicRoute['serve']): PublicRoute => ({
    ...{ path: HOME + path, takes_forms: true, serve },
  });
  const open = (path: string, serve: (req: HttpRequest) => Promise<TextAnswer>) =>
    route(path, async (req) =>
      req.method === 'POST' && frame.isOwnForm(req) ? serve(req) : frame.redirect(HOME),
    );
  const pages = Object.entries(OPERATOR_PAGES).map(([path, page]) =>
    route(path, async (req) => {
      if (!session.has(req)) return signInPage();
      const is_form = req.method === 'POST';
      if (is_form && !frame.isOwnForm(req)) return frame.refuse(OPERATOR);
      const form = is_form ? await readForm(req) : undefined;
      const query = new URL(req.url, 'http://console').searchParams;
      const shown = await page({ deps, query, form }).catch((error: unknown) => {
        if (!(error instanceof CatalogError)) throw error;
        return messageOf('This did not work', error.message || error.condition, 503);
      });
      return frame.show(OPERATOR, shown, query);
    }),
  );
  const signOut = (req: HttpRequest) => ({ 'Set-Cookie': frame.cookieOf(COOKIE, '', 0, req) });
  return [
    open('/sign-in', (req) => session.signIn(req)),
    open('/sign-out', async (req) => frame.redirect(HOME, signOut(req))),
    ...pages,
    ...Object.values(plotAssets()),
    route('/status', async (req) => {
      const status = session.has(req) ? await statusOf(deps) : undefined;
      const body = JSON.stringify(status ?? [], (_, value) =>
        typeof value === 'bigint' ? Number(value) : value,
      );
      return { status: status ? 200 : 401, body, headers: frame.HEADERS };
    }),
  ];
}

function signInPage(notice?: Notice, status = 200): TextAnswer {
  const texts = {
    ...{ heading: 'Operator', label: 'Token', name: 'token', action: `${HOME}/sign-in` },
    note: 'Sign in with the token of CONSOLE_OPERATOR_TOKEN.',
  };
  const body = <SignIn {...texts} />;
  return frame.render({ ...OPERATOR, sections: [] }, { title: 'Sign in', body, notice, status });
}

class Session {
  private readonly addressOf: (req: HttpRequest) => string;

  constructor(
    private readonly token: string,
    private readonly deps: OperatorDeps,
  ) {
    this.addressOf = clientAddress(deps.config.TRUST_PROXY);
  }

  /** Limits attempts like those with API keys, by address. */
  async signIn(req: HttpRequest): Promise<TextAnswer> {
    const { config, limiter, system } = this.deps;
    const { per_second, burst } = config.RATE_LIMIT_AUTH;
    const tier = { burst, refill_per_s: per_second, limit: per_second, per_day: null };
    const taken = await limiter.take(`auth:operator:ip:${this.addressOf(req)}`, tier).catch(() => undefined);
    const refused = (text: string) => signInPage({ text, is_bad: true }, 403);
    if (taken?.allowed === false) return refused('Too many attempts. Try again later.');
    const sent = (await readForm(req)).get('token') ?? '';
    if (!isEqual(sent, this.token)) return refused('This is not the token of CONSOLE_OPERATOR_TOKEN.');
    const seconds = frame.SESSION_MINUTES * 60;
    const until = String(Math.floor(system.now() / 1_000) + seconds);
    const cookie = frame.cookieOf(COOKIE, `${until}.${this.signatureOf(until)}`, seconds, req);
    return frame.redirect(HOME, { 'Set-Cookie': cookie });
  }

  has(req: HttpRequest): boolean {
    const [until = '', signature = ''] = (frame.cookieIn(req, COOKIE) ?? '').split('.');
    return isEqual(signature, this.signatureOf(until)) && Number(until) * 1_000 > this.deps.system.now();
  }

  private signatureOf(until: string): string {
    return createHmac('sha256', this.token).update(`operator ${until}`).digest('base64url');
  }
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
