import typeIs from 'type-is';
import { errorBody, errorCatalogue } from '../../../shared/api/error-catalogue';
import { CatalogApiError, CatalogClient, type Store } from '../../../shared/client';
import { readForm } from '../../../shared/http/body';
import type { Limits } from '../../../shared/http/rate-limit';
import type { HttpRequest, Principal } from '../../../shared/http/request';
import type { AuthEndpoint, PublicAnswer, TextAnswer } from '../../../shared/http/route';
import { CatalogError } from '../../../shared/kernel/errors';
import { InvalidText, type Notice } from './fields';
import {
  cookieIn,
  cookieOf,
  isOwnForm,
  messagePage,
  type PageAnswer,
  type PageContent,
  redirect,
  refuse,
  render,
  show,
  tooManyAttempts,
} from './frame';
import { SignIn, siteOf } from './layout';
import { SESSION_MINUTES, type Sessions } from './sessions';

export const HOME = '/console/products';
const COOKIE = { name: 'catalog_console', path: '/console' };
const SIGN_IN = (
  <SignIn
    {...{ heading: 'Console', label: 'Secret key', name: 'key', action: '/console/sign-in' }}
    note="Sign in with a secret key of your store. It begins with sk_."
  />
);
/** How long a page waits for a busy service. */
const WAIT_MS = 3_000;

/** A request of a merchant who has signed in. */
export interface Visit {
  readonly client: CatalogClient;
  /** The permissions and the stores of the key that began the session. */
  readonly principal: Principal;
  readonly store: Store;
  readonly id: string;
  readonly query: URLSearchParams;
  /** Empty for a GET, and for a form with files, which `receiveForm` reads from `req`. */
  readonly form: URLSearchParams;
  readonly req: HttpRequest;
  /** Sends a GET to the interface with the token of the session. Sends a HEAD if the request for the page is a HEAD. */
  readonly fetchApi: (path: string) => Promise<Response>;
}

/** `notice`: why the service has refused the form, if the page is shown again. */
export type Page = (visit: Visit, notice?: Notice) => Promise<PageAnswer>;

export interface SignInDeps {
  readonly sessions: Sessions;
  readonly limits: Limits;
  /** The endpoint that issues tokens. */
  readonly tokens: AuthEndpoint;
}

const signInPage = (content: Partial<PageContent>): TextAnswer =>
  render(siteOf(undefined), { title: 'Sign in', body: SIGN_IN, ...content });

export async function signIn(
  req: HttpRequest,
  { sessions, limits, tokens }: SignInDeps,
): Promise<TextAnswer> {
  const key = (await readForm(req)).get('key')?.trim() ?? '';
  const refused = (text: string) => signInPage({ notice: { text, is_bad: true }, status: 403 });
  if (!key.startsWith('sk_')) return refused('This is not a secret key: it begins with sk_.');
  const attempt = await limits.takeSignIn(req, 'console');
  if (!attempt.allowed) return signInPage(tooManyAttempts(attempt));
  try {
    const accepted = await tokens.authenticate((name) => (name === 'x-api-key' ? key : undefined));
    const { token, expires_in } = accepted.respond({ ttl_minutes: SESSION_MINUTES });
    const cookie = await sessions.begin(String(token));
    return redirect(HOME, { 'Set-Cookie': cookieOf(COOKIE, cookie, Number(expires_in), req) });
  } catch (error) {
    if (!(error instanceof CatalogError) || errorCatalogue[error.condition].status >= 500) throw error;
    return refused('This key is unknown, expired or revoked.');
  }
}

export async function signOut(req: HttpRequest, { sessions }: SignInDeps): Promise<TextAnswer> {
  await sessions.end(cookieIn(req, COOKIE) ?? '');
  return redirect(HOME, { 'Set-Cookie': cookieOf(COOKIE, '', 0, req) });
}

/** Returns a client that has a token instead of a key. */
function clientOf(base_url: string, token: string): CatalogClient {
  const issued = {
    code: 200,
    status: 'OK',
    data: { token, token_type: 'Bearer', expires_in: SESSION_MINUTES * 60 },
  };
  const send: typeof fetch = async (input, init) =>
    String(input).endsWith('/auth/token') ? Response.json(issued) : fetch(input, init);
  return new CatalogClient({ baseUrl: base_url, apiKey: 'sk_session', fetch: send, retryForMs: WAIT_MS });
}

export interface SessionDeps extends Pick<SignInDeps, 'sessions'> {
  /** The address of the service. */
  readonly base_url: string;
  readonly authenticate: (token: string) => Promise<Principal>;
}

export async function visit(
  req: HttpRequest,
  { base_url, authenticate, sessions }: SessionDeps,
  id: string,
  page: Page,
): Promise<PublicAnswer> {
  const cookie = cookieIn(req, COOKIE);
  const signInAgain = (notice?: Notice) => signInPage({ notice, status: cookie ? 401 : 200 });
  const token = cookie && (await sessions.read(cookie));
  if (!token) return signInAgain();
  if (req.method === 'POST' && !isOwnForm(req)) return refuse(siteOf(undefined));
  const has_form = req.method === 'POST' && !typeIs(req, ['multipart/form-data']);
  const form = has_form ? await readForm(req) : new URLSearchParams();
  const query = new URL(req.url, 'http://console').searchParams;
  const client = clientOf(base_url, token);
  const fetchApi = (path: string) =>
    fetch(base_url + path, {
      method: req.method === 'HEAD' ? 'HEAD' : 'GET',
      headers: { Authorization: `Bearer ${token}` },
    });
  let store: Store | undefined;
  try {
    store = await client.store.get();
    const principal = await authenticate(token);
    const answer = await page({ client, principal, store, id, query, form, req, fetchApi });
    return show(siteOf(store), answer, query);
  } catch (thrown) {
    const error = toApiError(thrown);
    if (!(error instanceof CatalogApiError)) throw error;
    if (error.status === 401)
      return signInAgain({ text: 'The session has ended. Sign in again.', is_bad: true });
    const heading = error.status === 404 ? 'Not found' : 'This did not work';
    return render(siteOf(store), messagePage(heading, error.status, { heading, hint: error.message }));
  }
}

/** The statuses of a refused form: it is invalid, in conflict, of an older version, too large, or has no picture. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 412, 413, 415]);

/** Returns an error of the services as the interface answers it. Returns other errors unchanged. */
const toApiError = (error: unknown): unknown =>
  error instanceof CatalogError
    ? new CatalogApiError(errorCatalogue[error.condition].status, new Headers(), errorBody(error))
    : error;

/** Returns the notice that shows why the service has refused a form. Throws any other error. */
export function noticeOf(thrown: unknown): Notice {
  const error = toApiError(thrown);
  if (error instanceof InvalidText) return { text: error.message, is_bad: true, fields: [error.field] };
  if (!(error instanceof CatalogApiError) || !REFUSALS.has(error.status)) throw error;
  const faults = (error.details?.errors ?? []) as { field?: string; constraint?: string }[];
  return {
    text: error.status === 412 ? 'Somebody has changed this meanwhile. Nothing was saved.' : error.message,
    is_bad: true,
    details:
      faults.length > 1 ? faults.map(({ field, constraint }) => `${field}: expected ${constraint}`) : [],
    fields: [
      ...faults.flatMap(({ field }) => field ?? []),
      ...(error.details?.field ? [error.details.field] : []),
    ],
  };
}

/** Shows a page again, with the reason why its form was refused. */
export const showAgain = async (page: Page, visit: Visit, notice: Notice): Promise<PageAnswer> =>
  ({ ...(await page(visit, notice)), notice, status: 422 }) as PageAnswer;

/** Returns a page that writes, and that shows `page` with the reason if the service refuses the form. */
export const unlessInvalid =
  (page: Page, write: Page): Page =>
  (visit) =>
    write(visit).catch((error: unknown) => showAgain(page, visit, noticeOf(error)));

/** Returns the first items of a list. Reads its pages one after another. */
export async function take<Item>(items: AsyncIterable<Item>, max: number): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) if (found.push(item) >= max) break;
  return found;
}
