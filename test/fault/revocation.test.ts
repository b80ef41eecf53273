import { Cli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { Fleet, type MemberName } from '../support/fleet';
import { fetchToken } from '../support/merchant';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const API: readonly MemberName[] = ['command-1', 'query-1'];

afterEach(endAll);

test('without a worker, the processes of a data folder refuse a key within 5 s after the command line revoked it', async () => {
  await withTempDir(async (folder) => {
    const fleet = new Fleet({ DATA_DIR: folder });
    const cli = new Cli(folder);
    const account = await cli.account();
    const store = await cli.store(account);
    await fleet.start(...API);
    const options = ['--account', account, '--type', 'public', '--store', store];
    const { id, key } = await cli.json('key', 'create', ...options);
    const token = await fetchToken(fleet.url('command-1'), key);
    for (const name of API) expect(await codeOf(fleet.url(name), token)).toBe('NOT_FOUND');

    expect(await cli.run('key', 'revoke', id)).toMatchObject({ code: 0, stderr: '' });
    for (const name of API) {
      const refuses = async () => (await codeOf(fleet.url(name), token)) === 'REVOKED_API_KEY';
      await waitFor(refuses, { what: `${name} to refuse the token`, timeout_ms: 5_000 });
    }
    await fleet.stop();
  });
});

/** Requests a path that does not exist. Returns the error code: NOT_FOUND if the process accepts the token. */
async function codeOf(url: string, token: string): Promise<string> {
  const reply = await fetch(`${url}/api/nothing`, { headers: { authorization: `Bearer ${token}` } });
  return ((await reply.json()) as { error: { code: string } }).error.code;
}
