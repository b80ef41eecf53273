import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { type HttpRequest, headerOf, isSecure } from '../../../shared/http/request';
import type { Answer, PublicAnswer, TextAnswer } from '../../../shared/http/route';
import type { Verdict } from '../../../shared/ports/rate-limiter';
import { assetRoute, htmlAnswer, PAGE_HEADERS } from '../html';
import type { Notice } from './fields';
import { Layout, Message, type MessageProps, type Site } from './layout';
import { STYLE } from './style';

/* The pages of merchants and of operators share this: cookies, forms, redirects and rendering. */

export const STYLE_ROUTE = assetRoute('console', 'css', STYLE);
export const HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' };
const REFRESH_S = 2;

export interface PageContent {
  readonly title: string;
  readonly body: VNode;
  readonly notice?: Notice | undefined;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether browsers load the page again after `REFRESH_S`, because it shows work that goes on. */
  readonly refreshes?: boolean;
}

/** The answer of a page: HTML, a redirect or a file. */
export type PageAnswer =
  | PageContent
  /** Redirects. The next page shows `saved`. */
  | { readonly location: string; readonly saved?: string }
  | { readonly file: Answer };

/** Where a session is kept. Browsers send a cookie to `path` and the pages below only. */
export interface SessionCookie {
  readonly name: string;
  readonly path: string;
}

/** Returns the header that sets the cookie. 0 seconds delete it. */
export function cookieOf(
  { name, path }: SessionCookie,
  value: string,
  seconds: number,
  req: HttpRequest,
): string {
  const secure = isSecure((header) => headerOf(req, header)) ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

export function cookieIn({ headers }: HttpRequest, { name }: SessionCookie): string | undefined {
  const cookies = (headers.cookie ?? '').split('; ');
  return cookies.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) || undefined;
}

/** Whether a form was sent by a page of the console. Browsers say where a form comes from, and pages cannot change it. */
export function isOwnForm({ headers }: HttpRequest): boolean {
  const { origin, host } = headers;
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}

export const redirect = (Location: string, headers: Record<string, string> = {}): TextAnswer =>
  htmlAnswer('', 303, { ...HEADERS, ...headers, Location });

/** Answers with a page, a redirect or a file. `query` may have the `saved` of the redirect that led here. */
export function show(site: Site, answer: PageAnswer, query: URLSearchParams): PublicAnswer {
  if ('file' in answer) return answer.file;
  if ('location' in answer) return redirect(withSaved(answer.location, answer.saved));
  const saved = query.get('saved');
  return render(site, {
    ...answer,
    notice: answer.notice ?? (saved ? { text: saved.slice(0, 200) } : undefined),
  });
}

const withSaved = (location: string, saved: string | undefined): string =>
  saved === undefined
    ? location
    : `${location}${location.includes('?') ? '&' : '?'}${new URLSearchParams({ saved })}`;

export function render(
  site: Site,
  { status = 200, headers, body, refreshes = false, ...page }: PageContent,
): TextAnswer {
  const html = renderToString(
    <Layout {...page} site={site} style={STYLE_ROUTE.path}>
      {body}
    </Layout>,
  );
  const sent = { ...HEADERS, ...headers, ...(refreshes && { Refresh: String(REFRESH_S) }) };
  return htmlAnswer(`<!doctype html>${html}`, status, sent);
}

/** Returns what a sign-in page shows after too many attempts. */
export const tooManyAttempts = ({ retry_after_s }: Verdict) => ({
  notice: { text: 'Too many attempts. Try again later.', is_bad: true },
  status: 429,
  headers: { 'Retry-After': String(retry_after_s) },
});

/** Answers a form of another site. */
export function refuse(site: Site): TextAnswer {
  const hint = 'The form is not of this page.';
  return render(
    site,
    messagePage('Refused', 403, { heading: 'Refused', hint, back: [site.home, 'Console'] }),
  );
}

/** Returns a page that only says why there is nothing else to show. */
export const messagePage = (title: string, status: number, message: MessageProps): PageContent => ({
  title,
  status,
  body: <Message {...message} />,
});
