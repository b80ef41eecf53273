import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { versionFile } from '../../shared/adapters/sqlite/view-store';
import { damage } from '../support/damage';
import { type Harness, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { Cli, InProcessCli } from './cli-run';

/** The command line and a server use the same data folder. */
describe('while a server runs', () => {
  let server: Harness;
  let cli: InProcessCli;
  beforeAll(async () => {
    server = await startHarness({ is_own: true });
    cli = new InProcessCli(server.data_dir);
  });
  afterAll(() => server.close());

  test('a new key works when the command has ended, and is refused soon after it is revoked', async () => {
    const account = await cli.account();
    const store = await cli.store(account);
    const create = ['key', 'create', '--account', account, '--type', 'public', '--store', store];
    const { id, key } = await cli.json(...create);
    // The command waits for at most two seconds. A busy machine may need longer.
    const token = await waitFor(() => server.token(key));
    expect(await server.request('GET', '/api/store', { token })).toMatchObject({
      status: 200,
      body: { data: { id: store, name: 'Shop' } },
    });
    await cli.json('key', 'revoke', id);
    const refused = async () => (await server.request('GET', '/api/store', { token })).status === 401;
    await waitFor(refused, { what: 'the token of a revoked key to be refused' });
  });

  test('the server reads an imported catalog by listing, featured first, with expansions', async () => {
    const shop = await server.newShop();
    const rows = [
      {
        external_id: 'a',
        title: 'A',
        price: '3.00',
        listing: 'Tea',
        reviews: [{ rating: 5, author_name: 'Ana' }],
      },
      { external_id: 'b', title: 'B', price: '2.00', listing: 'tea', featured_position: 1 },
      { external_id: 'c', title: 'C', price: '1.00', listing: 'Tea', visibility: 'private' },
    ];
    const path = join(server.data_dir, 'tea.jsonl');
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    await cli.json('import', path, '--format', 'jsonl', '--store', shop.store_id);
    await server.settled();

    const { token } = shop.public;
    const listings = await server.request('GET', '/api/store-listings', { token });
    const [tea] = listings.body.data;
    expect(tea).toMatchObject({ name: 'Tea', stats: { publication_count: 2 } });
    const page = await server.request('GET', `/api/listing/${tea.id}/publications`, { token });
    expect(page.body.data.featured).toMatchObject([{ title: 'B' }]);
    expect(page.body.data.others).toMatchObject([{ title: 'A', price_amount: 300 }]);
    const one = page.body.data.others[0].id;
    const expanded = await server.request('GET', `/api/publication/${one}?expand=listing`, { token });
    expect(expanded.body.data.listing).toMatchObject({ id: tea.id, name: 'Tea' });
  });

  test('a repair makes the reads right again, at once and without a restart', async () => {
    const { store_id, public: visitor, secret } = await server.newShop();
    const body = { title: 'Kettle', price_currency: 'USD', price_amount: 100 };
    const created = await server.request('POST', '/api/publication', { token: secret.token, body });
    const { id } = created.body.data;
    const read = async (): Promise<[title: string | undefined, listed: number]> => {
      const { token } = visitor;
      const one = await server.request('GET', `/api/publication/${id}`, { token });
      const list = await server.request('GET', '/api/publications', { token });
      return [one.body.data?.title, list.body.data.length];
    };
    expect(await read()).toEqual(['Kettle', 1]);
    const { live } = server.service.runtime.viewStores;
    await damage(live, store_id, 'publications', id, (before) => ({
      ...before!,
      keys: { ...before!.keys, visibility: 'private' },
    }));
    expect(await read()).toEqual([undefined, 0]);
    const { code, stdout } = await cli.run('projections', 'repair', '--realm', 'live');
    expect(stdout).toMatch(/REWRITTEN\nlive +clean +v1 +\d+ +\d+ +1\n/);
    expect(code).toBe(0);
    expect(await read()).toEqual(['Kettle', 1]);
    expect(await cli.json('projections', 'repair')).toMatchObject({
      clean: true,
      realms: [{}, { rewritten: 0 }, {}],
    });
  });

  test('a repair of a row that was deleted by hand, whose index entries are left, says what to do', async () => {
    const { secret } = await server.newShop();
    const body = { title: 'Kettle', price_currency: 'USD', price_amount: 100 };
    const created = await server.request('POST', '/api/publication', { token: secret.token, body });
    const file = new Database(join(server.data_dir, 'live', versionFile(1)), { timeout: 5_000 });
    file.prepare('DELETE FROM publications WHERE id = ?').run([created.body.data.id]);
    file.close();
    const { code, stderr } = await cli.run('projections', 'repair', '--realm', 'live');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^catalog: The indexes do not match the documents \(.*\)\. Run "catalog projections rebuild"\.\n$/,
      ),
    ]);
    expect(await cli.run('projections', 'rebuild', '--realm', 'live')).toMatchObject({ code: 0 });
    expect(await cli.run('projections', 'verify', '--realm', 'live')).toMatchObject({ code: 0 });
  });

  test('writes over HTTP and a concurrent import both succeed', async () => {
    const shop = await server.newShop();
    const rows = Array.from({ length: 400 }, (_, index) => ({
      external_id: `p${index}`,
      title: `P${index}`,
      price: '1.00',
    }));
    const path = join(server.data_dir, 'many.jsonl');
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    // In another process, so that both write at the same time.
    const importing = new Cli(server.data_dir).json(
      'import',
      path,
      '--format',
      'jsonl',
      '--store',
      shop.store_id,
    );
    const body = { title: 'Over HTTP', price_currency: 'USD', price_amount: 100 };
    const written: number[] = [];
    for (let count = 0; count < 40; count++)
      written.push(
        (await server.request('POST', '/api/publication', { token: shop.secret.token, body })).status,
      );
    expect(new Set(written)).toEqual(new Set([201]));
    expect(await importing).toMatchObject({ publications: { created: 400, failed: 0 } });
    await server.settled();
    const list = await server.request('GET', '/api/publications', { token: shop.public.token });
    expect(list.body.meta.item_count).toBe(440);
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
  });
});
