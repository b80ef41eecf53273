import { CatalogApiError, CatalogConnectionError } from 'catalog-client';
import { SessionState } from '../../lib/session-state';

/* The interface for operators (docs/operations/interface.md). Positions of the log are strings. */

export const REALMS = ['live', 'test', 'control'] as const;
export type Realm = (typeof REALMS)[number];

export const TASKS = ['rebuild', 'verify', 'repair'] as const;
export type TaskName = (typeof TASKS)[number];

export interface Progress {
  readonly step: 'reading' | 'indexing' | 'following' | 'verifying';
  readonly events_done: number;
  /** Events per second. */
  readonly rate: number;
  readonly position: string;
  readonly head: string;
  readonly indexes?: { readonly built: number; readonly total: number };
}

export interface VerifyResult {
  readonly clean: boolean;
  readonly version: number;
  readonly documents: Readonly<Record<string, number>>;
  readonly differences: readonly {
    readonly collection: string;
    readonly id: string;
    readonly field: string;
    /** JSON, null if the field is missing. */
    readonly expected: string | null;
    readonly actual: string | null;
  }[];
  readonly rewritten: number;
  readonly truncated: boolean;
  readonly undecided: number;
}

export type TaskState = { readonly task: TaskName } & (
  | { readonly status: 'running'; readonly progress?: Progress; readonly outage?: string }
  | { readonly status: 'verified'; readonly result: VerifyResult }
  | {
      readonly status: 'rebuilt';
      readonly result: {
        readonly outcome: 'activated' | 'drifted';
        readonly version: number;
        readonly previous: number | null;
        readonly verified: VerifyResult | null;
      };
    }
  | { readonly status: 'stopped' }
  | { readonly status: 'failed'; readonly reason: string }
);
export type Task = { readonly realm: Realm } & (TaskState | { readonly status: 'none'; readonly task: null });

interface VersionInfo {
  readonly version: number;
  readonly status: 'building' | 'following' | 'active' | 'retired';
  readonly schema: number;
  readonly created_at: string;
  readonly damaged: boolean;
  readonly mismatch: string | null;
}

export interface RealmHealth {
  readonly parts: Readonly<Record<string, unknown>>;
  readonly task: { readonly task: TaskName; readonly status: Task['status'] } | null;
  /** Why a store of the realm cannot be read. The other fields are then missing. */
  readonly error?: string;
  readonly head?: string;
  /** Of each partition. */
  readonly position?: readonly string[];
  readonly lag?: readonly string[];
  readonly dead_letters?: readonly number[];
  readonly paused_since?: string | null;
  readonly versions?: readonly VersionInfo[];
}

export interface Health {
  readonly state: 'ok' | 'attention' | 'down';
  readonly cause: string | null;
  readonly parts: Readonly<Record<string, unknown>>;
  readonly realms: Readonly<Record<Realm, RealmHealth>>;
}

export interface Projections {
  readonly realm: Realm;
  readonly head: string;
  readonly paused_since: string | null;
  readonly versions: readonly (VersionInfo & {
    readonly partitions: readonly {
      readonly partition: number;
      readonly checkpoint: string;
      readonly lag: string;
    }[];
    readonly dead_letters: readonly { readonly partition: number }[];
  })[];
}

export interface DeadLetter {
  readonly stream: string;
  readonly version: number;
  readonly revision: number;
  readonly reason: string;
  readonly cause?: string;
  readonly failed_at: string;
}

/** A stream on the dead-letter list. `plan` names what the list showed, so that a release acts on that. */
export interface WaitingStream extends DeadLetter {
  readonly realm: Realm;
  readonly group: string;
  readonly plan: string;
}

export interface DeadLetters {
  readonly groups: readonly {
    readonly group: string;
    readonly count: number;
    readonly first: DeadLetter;
    readonly plan: string;
  }[];
  readonly streams: readonly WaitingStream[];
}

export interface LogEvent {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly occurred_at: string;
  readonly source: string;
  readonly api_key_id: string | null;
}

export interface StreamPart {
  readonly realm: Realm;
  readonly dead_letter: DeadLetter | null;
  readonly events: readonly (LogEvent & { readonly data: unknown; readonly error?: string })[];
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'suspended';
  readonly created_at: string;
}

export interface Store {
  readonly id: string;
  readonly name: string;
  readonly environment: 'live' | 'test';
  readonly account_id: string;
  readonly created_at: string;
}

export interface StoppedWebhook {
  readonly id: string;
  readonly url: string;
  readonly environment: 'live' | 'test';
  readonly store_id: string;
  readonly status: 'paused' | 'disabled';
  readonly status_reason: string | null;
  readonly pending_count: number;
  readonly updated_at: string;
}

export interface Key {
  readonly id: string;
  readonly name: string;
  readonly type: 'secret' | 'public';
  readonly environment: 'live' | 'test';
  readonly status: 'active' | 'expired' | 'revoked';
  readonly stores: readonly string[];
  readonly permissions: readonly string[];
  readonly last_four: string | null;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** A key with its secret, which is shown only once. */
export type NewKey = Key & { readonly key: string };

/** Who owns the keys that a page shows. */
export type KeyOwner = { readonly account: string } | { readonly store: string };

/** Of a read. A write may take long, such as a retry of many dead letters. */
const TIMEOUT_MS = 30_000;
/** After this time, the health page says that the service does not answer. */
const HEALTH_TIMEOUT_MS = 10_000;

export const session = new SessionState();

interface Answer<Data, Meta = unknown> {
  readonly data: Data;
  readonly meta: Meta;
}

type RequestLine = `${'GET' | 'POST' | 'DELETE'} /${string}`;

interface Sent {
  readonly body?: object;
  readonly timeout_ms?: number;
}

/** Sends a request. Returns undefined if there is no session. */
async function send<Data, Meta>(
  request: RequestLine,
  { body, timeout_ms }: Sent = {},
): Promise<Answer<Data, Meta> | undefined> {
  const [method, path] = request.split(' ') as [string, string];
  try {
    const answer = await fetch(`/operator${path}`, {
      method,
      ...(timeout_ms && { signal: AbortSignal.timeout(timeout_ms) }),
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (answer.status === 401 && path !== '/session') return undefined;
    const json: unknown = await answer.json();
    if (!answer.ok) throw new CatalogApiError(answer.status, answer.headers, json);
    return json as Answer<Data, Meta>;
  } catch (error) {
    if (error instanceof CatalogApiError) throw error;
    throw new CatalogConnectionError('The service does not answer', { cause: error });
  }
}

/** Sends a request. While the session has ended, waits until the operator signs in again, and sends it then. */
async function call<Data, Meta = unknown>(request: RequestLine, sent?: Sent): Promise<Answer<Data, Meta>> {
  for (;;) {
    const answer = await send<Data, Meta>(request, sent);
    if (answer) return answer;
    session.set(session.read() === 'signed_in' || session.read() === 'ended' ? 'ended' : 'signed_out');
    await session.signedIn();
  }
}

const readPart = <Data, Meta>(path: `/${string}`, timeout_ms = TIMEOUT_MS) =>
  call<Data, Meta>(`GET ${path}`, { timeout_ms });

async function read<Data>(path: `/${string}`, timeout_ms?: number): Promise<Data> {
  return (await readPart<Data, unknown>(path, timeout_ms)).data;
}

async function write<Data>(path: `/${string}`, body?: object): Promise<Data> {
  return (await call<Data>(`POST ${path}`, body && { body })).data;
}

/** Finds out whether this browser has a session. */
export async function start(): Promise<void> {
  await read('/tasks');
  session.set('signed_in');
}

/** Rejects with `CatalogApiError` if the token is refused. */
export async function signIn(token: string): Promise<void> {
  await send('POST /session', { body: { token } });
  session.set('signed_in');
}

export async function signOut(): Promise<void> {
  await send('DELETE /session');
  location.assign('/console/operator');
}

export const operator = {
  health: () => read<Health>('/health', HEALTH_TIMEOUT_MS),
  projections: () => read<{ readonly realms: readonly Projections[] }>('/projections'),
  tasks: () => read<readonly Task[]>('/tasks'),
  startTask: (body: { realm: Realm; task: TaskName; dead_letter: boolean }) =>
    write('/task', { action: 'start', ...body }),
  stopTask: (realm: Realm) => write('/task', { action: 'stop', realm }),
  deadLetters: () => readPart<DeadLetters, { readonly stream_count: number }>('/dead-letters'),
  release: (body: { action: 'retry' | 'skip'; plan: string } & ({ stream: string } | { group: string })) =>
    write<{ readonly versions: readonly { readonly dead_letter: DeadLetter | null }[] }>(
      '/dead-letters/release',
      body,
    ),
  events: (query: URLSearchParams) =>
    readPart<readonly LogEvent[], { readonly before: string | null }>(`/events?${query}`),
  stream: (name: string, from: number) =>
    readPart<StreamPart, { readonly next: number | null }>(
      `/stream?${new URLSearchParams({ name, from: String(from) })}`,
    ),
  accounts: () => read<readonly Account[]>('/accounts'),
  createAccount: (name: string) => write<Account>('/accounts', { name }),
  suspendAccount: (id: string) => write<Account>(`/account/${id}/suspend`),
  reinstateAccount: (id: string) => write<Account>(`/account/${id}/reinstate`),
  stores: () =>
    read<{ readonly stores: readonly Store[]; readonly stopped_webhooks: readonly StoppedWebhook[] }>(
      '/stores',
    ),
  createStore: (body: { account_id: string; environment: string; name: string; currency?: string }) =>
    write<Store>('/stores', body),
  keys: (owner: KeyOwner) => read<readonly Key[]>(`/keys?${new URLSearchParams({ ...owner })}`),
  createKey: (body: object) => write<NewKey>('/keys', body),
  rotateKey: (id: string, overlap_minutes: number) =>
    write<NewKey & { readonly old_key_expires_at: string | null }>(`/key/${id}/rotate`, { overlap_minutes }),
  revokeKey: (id: string) => call(`DELETE /key/${id}`),
};
