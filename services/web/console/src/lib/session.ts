import { CatalogApiError, type Token } from 'catalog-client';
import { SessionState } from './session-state';

const PATH = '/console/session';
/** Tells the other windows of this browser. */
const channel = new BroadcastChannel('catalog-console');

const session = new SessionState();
export const { read: readStatus, subscribe } = session;

/** Returns null if there is no session. */
async function post(path: string, body?: object): Promise<Token | null> {
  const answer = await fetch(PATH + path, {
    method: 'POST',
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const json: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) throw new CatalogApiError(answer.status, answer.headers, json);
  return (json as { data: Token | null }).data;
}

/** The key of the session, which the tokens name. */
let key_id: string | undefined;

function note(token: Token): Token {
  const claims = token.token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? '';
  key_id = (JSON.parse(atob(claims)) as { api_key_id: string }).api_key_id;
  return token;
}

/** Finds out whether this browser has a session. */
export async function start(): Promise<void> {
  const token = await post('/token');
  if (token) note(token);
  session.set(token ? 'signed_in' : 'signed_out');
}

/**
 * Returns a token of the session. While the session has ended, waits until the merchant signs in again: a request that needs
 * the token is then sent, and nothing that was typed is lost.
 */
export async function getToken(): Promise<Token> {
  for (;;) {
    const token = await post('/token');
    if (token) return note(token);
    session.set('ended');
    await session.signedIn();
  }
}

/** Begins a session. Rejects with `CatalogApiError` if the key is refused. */
export async function signIn(key: string): Promise<void> {
  const before = key_id;
  note((await post('', { key }))!);
  channel.postMessage('signed_in');
  // With another key, the pages must read again what they may do. What was typed is kept.
  if (before !== undefined && before !== key_id) return location.reload();
  session.set('signed_in');
}

/** Ends the session in all windows. */
export async function signOut(): Promise<void> {
  await post('/end');
  channel.postMessage('signed_out');
  location.assign('/console');
}

channel.addEventListener('message', ({ data }) => {
  if (data === 'signed_out') location.assign('/console');
  else if (readStatus() === 'ended' || readStatus() === 'signed_out') session.set('signed_in');
});
