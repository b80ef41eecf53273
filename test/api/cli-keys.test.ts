import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { type KeyRing, loadTokenKeys } from '../../shared/http/token-keys';
import { TokenCodec, type TokenGrant } from '../../shared/http/tokens';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { withTempDir } from '../support/temp-dir';
import { Cli, expectFailure, InProcessCli } from './cli-run';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057';

test('manages accounts, stores and payment methods while no server runs', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const created = await cli.run('account', 'create', '--name', 'Ana Quispe');
    expect(created).toMatchObject({ code: 0, stderr: '' });
    expect(created.stdout).toMatch(/^id +[0-9a-f-]{36}\nname +Ana Quispe\nstatus +active\n/);
    const account = (await cli.json('account', 'list')).accounts[0].id as string;
    expect(account).toMatch(UUID);

    expect(await cli.json('account', 'suspend', account)).toMatchObject({ status: 'suspended' });
    expectFailure(await cli.run('store', 'create', '--account', account, '--name', 'S'), 1, 'suspended');
    expect(await cli.json('account', 'reinstate', account)).toMatchObject({ status: 'active' });

    const profile = [
      '--email',
      'hola@shop.example',
      '--hours',
      'Monday=9-18',
      'Sunday=closed',
      '--ruc',
      '20',
    ];
    const store = await cli.json('store', 'create', '--account', account, '--name', 'Shop', ...profile);
    expect(store).toMatchObject({
      object: 'store',
      environment: 'live',
      contact: { email: 'hola@shop.example' },
      businessHours: [
        { day: 'Monday', hours: '9-18' },
        { day: 'Sunday', hours: 'closed' },
      ],
    });
    await cli.store(account, '--test');
    const { stores } = await cli.json('store', 'list', '--account', account);
    expect(stores.map(({ environment }: { environment: string }) => environment)).toEqual(['live', 'test']);
    const update = (...options: string[]) => cli.json('store', 'update', store.id, ...options);
    const changed = await update('--name', 'Bazar', '--phone', '+51 1', '--ruc', '', '--hours', 'Daily=9-21');
    expect(changed).toEqual({
      ...store,
      ...{ name: 'Bazar', contact: { email: 'hola@shop.example', phone: '+51 1' }, ruc: undefined },
      ...{ businessHours: [{ day: 'Daily', hours: '9-21' }], updated_at: changed.updated_at },
    });
    expect(await update('--phone', '', '--email', '', '--returns', 'Never')).not.toHaveProperty('contact');
    expect(await update('--shipping', 'By bike')).toMatchObject({
      ...{ name: 'Bazar', policies: { returns: 'Never', shipping: 'By bike' } },
    });
    const named = (await cli.json('store', 'list')).stores.map(({ name }: { name: string }) => name);
    expect(named).toEqual(['Bazar', 'Shop']);
    expect(await update('--new-reviews', 'pending')).toMatchObject({ new_review_status: 'pending' });
    expect(await update('--currencies', 'pen', 'usd')).toMatchObject({ currencies: ['PEN', 'USD'] });
    expect(await update('--currency', 'pen')).toMatchObject({ currency: 'PEN' });
    expect(await update('--currency', '')).not.toHaveProperty('currency');
    expectFailure(await cli.run('store', 'update', store.id, '--currency', 'QQQ'), 2, 'ISO 4217');
    expect(await update('--new-reviews', 'default')).not.toHaveProperty('new_review_status');
    expectFailure(await cli.run('store', 'update', store.id), 2, 'Nothing to change');
    expectFailure(await cli.run('store', 'update', store.id, '--name', ''), 1, 'name');
    expectFailure(await cli.run('store', 'update', UNKNOWN, '--name', 'No'), 1, 'does not exist');
    expect(await cli.json('store', 'status', store.id, 'inactive')).toMatchObject({ status: 'inactive' });

    const add = ['payment-method', 'add', '--store', store.id, '--type', 'cash', '--name', 'Cash'];
    const method = await cli.json(...add);
    expect(method).toMatchObject({ object: 'payment_method', type: 'cash', position: 1 });
    expect(await cli.json('payment-method', 'remove', method.id, '--store', store.id)).toMatchObject({
      removed: true,
    });
    expectFailure(
      await cli.run('payment-method', 'remove', method.id, '--store', store.id),
      1,
      'no payment method',
    );
  }));

test('a command in a folder without a catalog says so and creates nothing; account create creates one', () =>
  withTempDir(async (folder) => {
    for (const path of [join(folder, 'absent'), folder])
      for (const words of ['account list', 'store list', 'projections status', 'projections verify'])
        expectFailure(
          await new InProcessCli(path).run(...words.split(' ')),
          1,
          `catalog: There is no catalog in ${path}. Set DATA_DIR to the folder of the service, or create a catalog ` +
            'there with "npm start" or "catalog account create".',
        );
    expect(readdirSync(folder)).toEqual([]);
    const cli = new InProcessCli(join(folder, 'absent'));
    const account = await cli.account();
    expect((await cli.run('account', 'list')).stdout).toContain(account);
  }));

test('creates, lists, rotates and revokes keys, and shows each key only once', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const account = await cli.account();
    const store = await cli.store(account);
    const create = ['key', 'create', '--account', account, '--store', store];
    const key = await cli.json(
      ...create,
      '--type',
      'public',
      '--permission',
      'read:listings',
      '--name',
      'Web',
    );
    expect(key).toMatchObject({
      type: 'public',
      environment: 'live',
      stores: [store],
      permissions: ['read:listings'],
      expires_at: null,
    });
    expect(key.id).toMatch(UUID);
    expect(key.key).toMatch(/^pk_live_[\w-]{43}$/);
    const table = await cli.run(...create, '--type', 'secret', '--expires', '2999-01-01');
    const secret = /sk_live_[\w-]{43}/.exec(table.stdout)![0];

    const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
    expect(await cli.json('key', 'limit', key.id, '600/100000/900')).toMatchObject({ limits });
    const rotated = await cli.json('key', 'rotate', key.id, '--overlap', '30');
    expect(rotated).toMatchObject({ rotated_from: key.id, permissions: ['read:listings'], limits });
    expect(rotated.key).not.toBe(key.key);
    await cli.json('key', 'revoke', rotated.id);

    const listed = await cli.run('key', 'list', '--account', account, '--json');
    const { keys } = JSON.parse(listed.stdout) as {
      keys: { id: string; status: string; expires_at: string; last_four: string }[];
    };
    expect(keys.map(({ status }) => status)).toEqual(['active', 'active', 'revoked']);
    expect(Date.parse(keys[0]!.expires_at)).toBeGreaterThan(Date.now());
    expect(keys[1]!.expires_at).toBe('2999-01-01T00:00:00.000Z');
    expect(keys.map(({ last_four }) => last_four)).toEqual(
      [key.key, secret, rotated.key].map((text: string) => text.slice(-4)),
    );
    for (const hidden of [key.key, secret, rotated.key, 'key_hash'])
      expect(listed.stdout).not.toContain(hidden);
  }));

test('key rotate prints the new key before it sets the expiry of the old one, which may fail', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const account = await cli.account();
    const store = await cli.store(account);
    const old = await cli.json('key', 'create', '--account', account, '--store', store, '--type', 'public');
    const log = new Database(join(folder, 'control', 'events.sqlite'));
    log.exec(
      `CREATE TRIGGER no_expiry BEFORE INSERT ON events WHEN NEW.type = 'ApiKeyExpirySet'
       BEGIN SELECT RAISE(ABORT, 'the expiry is refused'); END`,
    );
    log.close();

    const { code, stdout, stderr } = await cli.run('key', 'rotate', old.id, '--overlap', '30', '--json');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^catalog: The new key is created and printed, but .+\n$/);
    expect(stderr).toContain('Do not run key rotate again');
    expect(stderr).toContain(`catalog key revoke ${old.id}`);
    const created = JSON.parse(stdout);
    expect(created.key).toMatch(/^pk_live_[\w-]{43}$/);
    const { keys } = await cli.json('key', 'list', '--account', account);
    expect(keys.map(({ id }: { id: string }) => id)).toEqual([old.id, created.id]);
    expect(created.key.endsWith(keys[1].last_four)).toBe(true);
  }));

test('refuses invalid grants with an error on one line', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const account = await cli.account();
    const live = await cli.store(account);
    const test = await cli.store(account, '--test');
    const create = (...options: string[]) => cli.run('key', 'create', '--account', account, ...options);
    expectFailure(await create('--type', 'public', '--store', live, test), 1, 'like the others');
    expectFailure(
      await create('--type', 'public', '--store', live, '--expires', '2999-02-31'),
      2,
      'expected an ISO 8601 time',
    );
    expectFailure(
      await create('--type', 'admin', '--store', live),
      2,
      "argument 'admin' is invalid. Allowed choices are public, secret.",
    );
    expectFailure(await cli.run('key', 'revoke', UNKNOWN), 1, 'no such API key');
    expectFailure(await cli.run('account', 'suspend', UNKNOWN), 1, 'no such account');
    expectFailure(await cli.run('store', 'status', UNKNOWN, 'active'), 1, `Store ${UNKNOWN} does not exist.`);
  }));

test('key list shows last four characters, permissions, stores, limits and last use in one row per key', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const account = await cli.account();
    const [first, second] = [await cli.store(account), await cli.store(account)];
    const create = (...options: string[]) => cli.json('key', 'create', '--account', account, ...options);
    const some = ['--permission', 'read:listings,read:media,write:media', '--limit', '60/1000/90'];
    const web = await create('--type', 'public', '--store', first, '--name', 'Web');
    const till = await create('--type', 'secret', '--store', first, second, '--name', 'Till', ...some);
    const { stdout } = await cli.run('key', 'list', '--account', account);
    const [titles, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(titles).toEqual([
      ...['ID', 'NAME', 'TYPE', 'ENVIRONMENT', 'LAST FOUR', 'STATUS', 'PERMISSIONS', 'STORES', 'LIMITS'],
      ...['LAST USED AT', 'EXPIRES AT'],
    ]);
    const last = (key: { key: string }): string => key.key.slice(-4);
    expect(rows).toEqual([
      [web.id, 'Web', 'public', 'live', last(web), 'active', 'read', first, 'default', '-', '-'],
      [
        ...[till.id, 'Till', 'secret', 'live', last(till), 'active'],
        ...['read:listings,media write:media', `${first} +1`, '60/1000/90', '-', '-'],
      ],
    ]);
    const { keys } = await cli.json('key', 'list', '--account', account);
    expect(keys[1]).toEqual({
      ...{ id: till.id, name: 'Till', type: 'secret', environment: 'live', status: 'active' },
      ...{ account_id: account, stores: [first, second], last_four: last(till) },
      permissions: ['read:listings', 'read:media', 'write:media'],
      limits: { per_minute: 60, per_day: 1000, burst: 90 },
      ...{ needs_confirmation: false, price_list: null },
      ...{ last_used_at: null, expires_at: null, revoked_at: null, created_at: till.created_at },
    });
  }));

test('key limit shows, sets and removes the limits of a key, and refuses others with one line', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder, { RATE_LIMIT_PUBLIC: '50/5000/75' });
    const account = await cli.account();
    const create = [...['key', 'create', '--account', account], '--store', await cli.store(account)];
    const key = await cli.json(...create, '--type', 'public', '--name', 'Web');
    const limit = (...args: string[]) => cli.json('key', 'limit', key.id, ...args);
    const default_limits = { per_minute: 50, per_day: 5000, burst: 75 };
    const shown = { id: key.id, name: 'Web', type: 'public', default_limits };
    expect(await limit()).toEqual({ ...shown, limits: null });
    const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
    expect(await limit('600/100000/900')).toEqual({ ...shown, limits });
    expect((await cli.run('key', 'limit', key.id)).stdout).toMatch(
      /\nlimits +600\/100000\/900\ndefault_limits +50\/5000\/75\n$/,
    );
    expect(await limit('--default')).toEqual({ ...shown, limits: null });

    expectFailure(
      await cli.run('key', 'limit', key.id, '600'),
      2,
      'Invalid limits "600": expected minute/day',
    );
    const too_few = 'limits.per_day: must be at least as high as per_minute and burst';
    expectFailure(await cli.run(...create, '--type', 'public', '--limit', '600/599/10'), 1, too_few);
    expectFailure(await cli.run('key', 'limit', key.id, '1/9/1', '--default'), 2, 'Give either');
    expectFailure(await cli.run('key', 'limit', UNKNOWN), 1, 'no such API key');
    await cli.json('key', 'revoke', key.id);
    expectFailure(await cli.run('key', 'limit', key.id, '1/9/1'), 1, 'The API key is revoked');
  }));

test('key find names the key that leaked, or the key behind a token, and never prints it', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const account = await cli.account();
    const create = ['key', 'create', '--account', account, '--store', await cli.store(account)];
    const web = await cli.json(...create, '--type', 'public', '--name', 'Web');
    const till = await cli.json(...create, '--type', 'secret', '--name', 'Till');

    // A process of its own: it ends although its standard input stays open.
    const found = await new Cli(folder).runWithInput(`\n  ${till.key} \n`, 'key', 'find');
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.stdout).toMatch(
      new RegExp(`^id +${till.id}\ntype +secret\nenvironment +live\nname +Till\naccount_id +${account}\n`),
    );
    expect(found.stdout).toMatch(`last_four     ${till.key.slice(-4)}\nstatus        active\n`);
    expect(found.stdout).toContain(`catalog key revoke ${till.id}\n`);
    expect(found.stdout).not.toContain(till.key);
    expect((await cli.runWithInput(`${web.key}\n`, 'key', 'find', '-')).stdout).toContain(web.id);
    expect(await cli.json('key', 'find', web.key)).toMatchObject({ id: web.id, status: 'active' });

    // A token names its key, also when it has expired. One that this service has not signed names none.
    const config = parseConfig({ DATA_DIR: folder });
    const grant = {
      ...{ api_key_id: till.id, account_id: account, key_type: 'secret', env: 'live' },
      ...{ stores: till.stores, permissions: till.permissions },
    } as TokenGrant;
    const signAt = (ring: KeyRing, now_ms: number): string => {
      const system = { ...realSystem, now: () => now_ms };
      return new TokenCodec({ ring, issuer: config.JWT_ISSUER, system }).sign(grant, 900);
    };
    const expired = signAt(await loadTokenKeys(config), Date.UTC(2026, 0));
    expect((await cli.runWithInput(`${expired}\n`, 'key', 'find')).stdout).toContain(till.id);
    const forged = signAt(await loadTokenKeys(parseConfig({ JWT_SECRET: 'x'.repeat(32) })), Date.now());
    expectFailure(await cli.runWithInput(`${forged}\n`, 'key', 'find'), 1, 'not issued by this service');

    await cli.json('key', 'revoke', till.id);
    const revoked = await cli.runWithInput(`${till.key}\n`, 'key', 'find');
    expect(revoked.stdout).toMatch(/\nstatus +revoked\n/);
    expect(revoked.stdout).not.toContain('key revoke');

    const unknown = `sk_live_${'x'.repeat(43)}`;
    expectFailure(
      await cli.runWithInput(`${unknown}\n`, 'key', 'find'),
      1,
      'No API key of this service matches.',
    );
    const cut = till.key.slice(0, -1);
    const refused = await cli.runWithInput(`${cut}\n`, 'key', 'find');
    expectFailure(refused, 2, 'neither an API key nor a token');
    expect(refused.stderr).not.toContain(cut);
    expectFailure(await cli.run('key', 'find'), 2, 'Expected an API key or a token on standard input.');
  }));

test.each([
  ['account create', "Required option '--name <name>' not specified."],
  ['account create --name', "Option '--name <name>' argument missing."],
  ['account suspend', "Missing required argument 'id'."],
  ['account creat', "Unknown command 'creat' (Did you mean create?)."],
  ['account list --jso', "Unknown option '--jso' (Did you mean --json?)."],
  ['account list a b', "Too many arguments for 'list'. Expected 0 arguments but got 2."],
  [
    'projections verify --realm x',
    "Option '--realm <realm>' argument 'x' is invalid. Allowed choices are control, live, test.",
  ],
])('catalog %s: %s', async (line, message) => {
  const [noun, verb] = line.split(' ');
  const command = `catalog ${noun}${verb === 'creat' ? '' : ` ${verb}`}`;
  const cli = new InProcessCli(join('no', 'such', 'folder'));
  expect(await cli.run(...line.split(' '))).toEqual({
    ...{ code: 2, stdout: '', stderr: `catalog: ${message} Run "${command} --help" for usage.\n` },
  });
});

test('an invalid id exits with 2, an invalid setting with 1, help with 0', async () => {
  const cli = new InProcessCli(join('no', 'such', 'folder'), { PORT: 'x' });
  expectFailure(await cli.run('account', 'suspend', 'x'), 2, 'Invalid account id: expected a UUID.');
  expectFailure(await cli.run('config'), 1, 'PORT');
  const help = await cli.run('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('projections');
  expect((await cli.run()).code).toBe(2);
});

test('config hides secrets', () =>
  withTempDir(async (folder) => {
    const secret = 'a secret that nobody must ever see';
    const cli = new InProcessCli(folder, { JWT_SECRET: secret, RATE_LIMIT_PUBLIC: '7/70/9' });
    const shown = await cli.run('config');
    expect(shown.stdout).toMatch(/RATE_LIMIT_PUBLIC +7\/70\/9\n/);
    expect(shown.stdout).not.toContain(secret);
    expect(await cli.json('config')).toMatchObject({ DATA_DIR: folder, JWT_SECRET: '(hidden)' });
  }));
