import { withTempDir } from '../support/temp-dir';
import { Cli, expectFailure } from './cli-run';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057';

test('manages accounts, stores and payment methods while no server runs', () =>
  withTempDir(async (folder) => {
    const cli = new Cli(folder);
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

test('creates, lists, rotates and revokes keys, and shows each key only once', () =>
  withTempDir(async (folder) => {
    const cli = new Cli(folder);
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

    const rotated = await cli.json('key', 'rotate', key.id, '--overlap', '30');
    expect(rotated).toMatchObject({ rotated_from: key.id, permissions: ['read:listings'] });
    expect(rotated.key).not.toBe(key.key);
    await cli.json('key', 'revoke', rotated.id);

    const listed = await cli.run('key', 'list', '--account', account, '--json');
    const { keys } = JSON.parse(listed.stdout) as {
      keys: { id: string; status: string; expires_at: string }[];
    };
    expect(keys.map(({ status }) => status)).toEqual(['active', 'active', 'revoked']);
    expect(Date.parse(keys[0]!.expires_at)).toBeGreaterThan(Date.now());
    expect(keys[1]!.expires_at).toBe('2999-01-01T00:00:00.000Z');
    for (const hidden of [key.key, secret, rotated.key, 'key_hash'])
      expect(listed.stdout).not.toContain(hidden);
  }));

test('refuses invalid grants with an error on one line', () =>
  withTempDir(async (folder) => {
    const cli = new Cli(folder);
    const account = await cli.account();
    const live = await cli.store(account);
    const test = await cli.store(account, '--test');
    const other = await cli.store(await cli.account('Other'));
    const create = (...options: string[]) => cli.run('key', 'create', '--account', account, ...options);
    expectFailure(await create('--type', 'public', '--store', live, test), 1, 'like the others');
    expectFailure(await create('--type', 'public', '--store', other), 1, 'a store of the account');
    expectFailure(
      await create('--type', 'public', '--store', live, '--permission', 'write:media'),
      1,
      'write:media',
    );
    expectFailure(
      await create('--type', 'public', '--store', live, '--expires', '2001-01-01'),
      1,
      'a time in the future',
    );
    expectFailure(
      await create('--type', 'public', '--store', live, '--expires', '2999-02-31'),
      2,
      'expected an ISO 8601 time',
    );
    expectFailure(
      await create('--type', 'admin', '--store', live),
      2,
      'Invalid --type "admin": expected one of public, secret.',
    );
    expectFailure(await cli.run('key', 'revoke', UNKNOWN), 1, 'no such API key');
    expectFailure(await cli.run('account', 'suspend', UNKNOWN), 1, 'no such account');
    expectFailure(await cli.run('store', 'status', UNKNOWN, 'active'), 1, `Store ${UNKNOWN} does not exist.`);
  }));

test('a usage error exits with 2, help with 0, an invalid setting with 1', () =>
  withTempDir(async (folder) => {
    const cli = new Cli(folder);
    expectFailure(
      await cli.run('account', 'create'),
      2,
      'Missing required option --name <name>. Run "catalog account create --help" for usage.',
    );
    expectFailure(await cli.run('account', 'creat'), 2, 'Unknown command "creat". Did you mean create?');
    expectFailure(await cli.run('account', 'suspend', 'x'), 2, 'Invalid account id: expected a UUID.');
    expectFailure(await cli.run('account', 'list', '--frob'), 2, 'Unknown option --frob.');
    expectFailure(await new Cli(folder, { PORT: 'x' }).run('config'), 1, 'PORT');
    const help = await cli.run('--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('projections');
    expect((await cli.run()).code).toBe(2);
  }));

test('config hides secrets', () =>
  withTempDir(async (folder) => {
    const secret = 'a secret that nobody must ever see';
    const cli = new Cli(folder, { JWT_SECRET: secret, RATE_LIMIT_PUBLIC: '7/70/9' });
    const shown = await cli.run('config');
    expect(shown.stdout).toMatch(/RATE_LIMIT_PUBLIC +7\/70\/9\n/);
    expect(shown.stdout).not.toContain(secret);
    expect(await cli.json('config')).toMatchObject({ DATA_DIR: folder, JWT_SECRET: '(hidden)' });
  }));
