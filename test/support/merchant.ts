import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { startPipelines } from '../../services/boot/pipelines';
import { openRuntime, type Runtime } from '../../services/boot/runtime';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import { createStore } from '../../services/command/store';
import type { KeyType } from '../../shared/catalog/vocabulary';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from './fetch';
import type { Ledger, Written } from './traffic';
import { WAIT_MS_MAX, waitFor } from './wait-for';

export async function createSecretKey(settings: Record<string, string>): Promise<string> {
  return (await createKeys(settings)).secret;
}

/** Opens the stores of an installation whose processes do not run, or run elsewhere. Closes them after the story. */
export async function withRuntime<Result>(
  settings: Record<string, string>,
  story: (runtime: Runtime) => Promise<Result>,
): Promise<Result> {
  const runtime = await openRuntime(parseConfig(settings), pino({ level: 'silent' }), realSystem);
  try {
    return await story(runtime);
  } finally {
    await runtime.close();
  }
}

/** Projects all events of the log. */
export async function project(runtime: Runtime): Promise<void> {
  const pipelines = startPipelines(runtime);
  await pipelines.caughtUp(WAIT_MS_MAX);
  await pipelines.stop();
}

/** Creates an account with a store, and a key of each type for it. */
export const createKeys = (settings: Record<string, string>) =>
  withRuntime(settings, async ({ events }) => {
    const deps = { system: realSystem, events };
    const context = (n: number) => ({ source: 'cli', request_id: `processes-test-${n}` }) as const;
    const { id: account_id } = (await createAccount(deps, context(1), { name: 'Merchant' })).value;
    const shop = { name: 'Shop', environment: 'live' } as const;
    const { id: store_id } = (await createStore(deps, context(2), { account_id }, shop)).value;
    const keyOf = async (type: KeyType, n: number) =>
      createApiKey(deps, context(n), { account_id, name: type, type, stores: [store_id] });
    const { key: secret, id: secret_id } = await keyOf('secret', 3);
    const { key: visitor } = await keyOf('public', 4);
    return { secret, secret_id, public: visitor, account_id, store_id };
  });

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
async function get(url: string, token: string, headers: Record<string, string> = {}): Promise<any> {
  const reply = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return { ...(JSON.parse(await reply.text()) as object), status: reply.status };
}

/** Waits until a worker has projected the key, and returns a token for it. */
export async function fetchToken(url: string, key: string): Promise<string> {
  const requestToken = async (): Promise<string | undefined> => {
    const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
    const { data } = (await reply.json()) as { data?: { token: string } };
    return data?.token;
  };
  return waitFor(requestToken, { what: 'a token' });
}

/** Creates a listing. Sends the request again while a busy machine does not answer it in time. */
export async function createListing(url: string, token: string, name: string): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  const body = JSON.stringify({ name });
  const create = async (): Promise<string | undefined> => {
    const reply = await fetch(`${url}/api/listing`, { method: 'POST', headers, body });
    const { data } = (await reply.json()) as { data?: { id: string } };
    return data?.id;
  };
  return waitFor(create, { what: 'a new listing' });
}

/**
 * Waits until query processes show listings. A creation is answered even if its projection takes too long, as it does
 * while workers start on a busy machine.
 */
export async function waitForListings(urls: string[], token: string, ids: string[]): Promise<void> {
  for (const url of urls)
    for (const id of ids) {
      const isShown = async () => (await get(`${url}/api/listing/${id}`, token)).status === 200;
      await waitFor(isShown, { what: `${url} to show the listing ${id}` });
    }
}

/** Waits until the newest acknowledged write is projected. */
export async function waitUntilProjected(url: string, token: string, ledger: Ledger): Promise<void> {
  const headers = { 'x-catalog-min-position': String(ledger.position) };
  const isProjected = async () => (await get(`${url}/api/store`, token, headers)).status === 200;
  await waitFor(isProjected, { what: 'the last write to be projected' });
}

/**
 * Returns the acknowledged writes that a query process does not show. Leaves out those that an outage made uncertain.
 */
export async function findMissingWrites(url: string, token: string, ledger: Ledger): Promise<Written[]> {
  const wrong: Written[] = [];
  for (const written of ledger.publications.values()) {
    if (ledger.uncertain.has(written.id)) continue;
    const { status, data } = await get(`${url}/api/publication/${written.id}`, token);
    const { title, price_amount, created_at, deleted } = written;
    const found = [data?.title, data?.price_amount, data?.created_at];
    const is_right = [title, price_amount, created_at].every((value, index) => value === found[index]);
    if (deleted ? status !== 404 : !is_right) wrong.push(written);
  }
  return wrong;
}

/**
 * Reads a listing page by page, oldest first. Returns its ids and the counts of its pages and of the listing itself.
 */
export async function readListing(url: string, token: string, id: string) {
  const ids: string[] = [];
  let total = 0;
  for (let page = 1; ; page++) {
    const query = `limit=50&sort=created_at&order=asc&page=${page}`;
    const { data } = await get(`${url}/api/listing/${id}/publications?${query}`, token);
    ids.push(...data.others.map((one: { id: string }) => one.id));
    total = data.meta.pagination.total;
    if (data.others.length < 50) break;
  }
  const { data } = await get(`${url}/api/listing/${id}`, token);
  return { ids, total, publication_count: data.stats.publication_count };
}

export async function waitForWrites(ledger: Ledger, writes: number): Promise<void> {
  const goal = ledger.acknowledged + writes;
  await waitFor(() => ledger.acknowledged >= goal, { what: `${writes} more writes` });
}
