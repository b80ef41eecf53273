import { Cli, expectFailure } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { Fleet, type MemberName } from '../support/fleet';
import { fetchToken } from '../support/merchant';
import { SERVER_SETTINGS } from '../support/own-servers';
import { endAll } from '../support/processes';
import { describeOnAll } from '../support/real-servers';
import { OwnServers } from '../support/servers/own-server';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const HIGH = '1000000/100000000/1000000';
const SETTINGS = {
  DEMO: 'off',
  RATE_LIMIT_SECRET: HIGH,
  RATE_LIMIT_PUBLIC: HIGH,
  RATE_LIMIT_AUTH: '100000/100000',
};
const API: readonly MemberName[] = ['command-1', 'query-1'];

describeOnAll(SERVER_SETTINGS, 'accounts and keys while Redis and all workers are away', () => {
  let servers: OwnServers;
  let folder: TempDir;
  let fleet: Fleet;
  let cli: Cli;
  let account: string;
  let store: string;

  beforeAll(async () => {
    servers = await OwnServers.start();
    folder = makeTempDir();
    const settings = { ...SETTINGS, ...servers.settings, DATA_DIR: folder.path };
    fleet = new Fleet(settings);
    // One after the other, because each takes seconds of CPU to start.
    for (const name of [...API, 'worker-1'] as const) await fleet.start(name);
    cli = new Cli(folder.path, settings);
    account = await cli.account();
    store = await cli.store(account);
    await fleet.end('worker-1', 'SIGKILL');
    await servers.redis.kill();
  });
  afterAll(async () => {
    endAll();
    await servers?.dispose();
    folder?.remove();
  });

  /** Creates a key by the command line, and a token that every process accepts. */
  async function newKey(): Promise<{ id: string; key: string; token: string }> {
    const options = ['--account', account, '--type', 'secret', '--store', store];
    const { id, key } = await cli.json('key', 'create', ...options);
    const token = await fetchToken(fleet.url('command-1'), key);
    for (const name of API) expect(await use(fleet.url(name), token)).toBe('NOT_FOUND');
    return { id, key, token };
  }

  /** Waits until every process answers the token with `code`. */
  async function expectEverywhere(token: string, code: string): Promise<void> {
    const arrives = (name: MemberName) =>
      waitFor(async () => (await use(fleet.url(name), token)) === code, { what: `${code} of ${name}` });
    await Promise.all(API.map(arrives));
  }

  test('a revoked key is refused by every process', async () => {
    const { id, key, token } = await newKey();
    expect(await cli.run('key', 'revoke', id)).toMatchObject({ code: 0, stderr: '' });
    await expectEverywhere(token, 'REVOKED_API_KEY');
    const url = fleet.url('command-1');
    expect(await auth(url, 'token', { 'x-api-key': key })).toEqual([401, 'Invalid API key']);
    const authorization = `Bearer ${token}`;
    expect(await auth(url, 'refresh', { authorization })).toEqual([401, 'Invalid API key']);
  });

  test('the keys of a suspended account are refused until it is reinstated', async () => {
    const { token } = await newKey();
    expect(await cli.run('account', 'suspend', account)).toMatchObject({ code: 0, stderr: '' });
    await expectEverywhere(token, 'ACCOUNT_SUSPENDED');
    expect(await cli.run('account', 'reinstate', account)).toMatchObject({ code: 0, stderr: '' });
    await expectEverywhere(token, 'NOT_FOUND');
  });

  test('a rotated key is replaced: the old one expires, the new one works', async () => {
    const { id, token } = await newKey();
    const rotated = await cli.json('key', 'rotate', id, '--overlap', '0');
    await expectEverywhere(token, 'INVALID_API_KEY');
    const new_token = await fetchToken(fleet.url('command-1'), rotated.key);
    await expectEverywhere(new_token, 'NOT_FOUND');
  });

  test('new limits of a key apply', async () => {
    const { id, token } = await newKey();
    expect(await cli.run('key', 'limit', id, '7/100/7')).toMatchObject({ code: 0, stderr: '' });
    for (const name of API) {
      const shows = async () => (await read(fleet.url(name), token)).headers.get('x-ratelimit-limit') === '7';
      await waitFor(shows, { what: `the new limit of ${name}` });
    }
  });

  test('the status of a store cannot change for readers, and the command says so', async () => {
    const id = await cli.store(account);
    const unconfirmed = await cli.run('store', 'status', id, 'suspended');
    expectFailure(unconfirmed, 1, /is saved, but not confirmed: .*Reads do not apply it until then/);
  });

  test('without the documents, the command fails and says that the revocation is saved', async () => {
    const { id, token } = await newKey();
    await servers.mongo.freeze();
    try {
      const unconfirmed = await cli.run('key', 'revoke', id);
      expectFailure(unconfirmed, 1, /The revocation is saved, but not confirmed: .*run the command again/);
    } finally {
      await servers.mongo.thaw();
    }
    await expectEverywhere(token, 'REVOKED_API_KEY');
    const confirmed = await waitFor(async () => {
      const ended = await cli.run('key', 'revoke', id);
      return ended.code === 0 && ended;
    });
    expect(confirmed.stdout).toContain('revoked');
  });

  test('without the event store, the command fails, and tokens are accepted as before', async () => {
    const { id, token } = await newKey();
    await servers.event_store.kill();
    try {
      const unknown = await cli.run('key', 'revoke', id);
      expectFailure(unknown, 1, /It is unknown whether the revocation was saved .*Run the command again/);
      for (const name of API) expect(await use(fleet.url(name), token)).toBe('NOT_FOUND');
    } finally {
      await servers.event_store.start();
    }
    expect(await cli.run('key', 'revoke', id)).toMatchObject({ code: 0 });
    await expectEverywhere(token, 'REVOKED_API_KEY');
  });

  test('a process that starts refuses what was revoked before, and serves without the event store', async () => {
    const revoked = await newKey();
    const { token } = await newKey();
    expect(await cli.run('key', 'revoke', revoked.id)).toMatchObject({ code: 0 });
    await fleet.end('query-1', 'SIGKILL');
    await fleet.start('query-1');
    expect(await use(fleet.url('query-1'), revoked.token)).toBe('REVOKED_API_KEY');

    await servers.event_store.kill();
    try {
      await fleet.end('query-1', 'SIGKILL');
      await fleet.start('query-1');
      await waitFor(async () => (await use(fleet.url('query-1'), token)) === 'NOT_FOUND');
      expect(await use(fleet.url('query-1'), revoked.token)).toBe('REVOKED_API_KEY');
    } finally {
      await servers.event_store.start();
    }
    const { id, token: later } = await newKey();
    expect(await cli.run('key', 'revoke', id)).toMatchObject({ code: 0 });
    await expectEverywhere(later, 'REVOKED_API_KEY');
  });
});

/** Sends a request to a path that does not exist. Every process checks the token before the path. */
const read = (url: string, token: string) =>
  fetch(`${url}/api/nothing`, { headers: { authorization: `Bearer ${token}` } });

/** Returns the error code of the answer: NOT_FOUND if the process accepts the token. */
async function use(url: string, token: string): Promise<string> {
  const { error } = (await (await read(url, token)).json()) as { error: { code: string } };
  return error.code;
}

/** Requests a token. Returns the status and the message. */
async function auth(url: string, name: string, headers: Record<string, string>): Promise<[number, string]> {
  const reply = await fetch(`${url}/auth/${name}`, { method: 'POST', headers });
  return [reply.status, ((await reply.json()) as { message: string }).message];
}
