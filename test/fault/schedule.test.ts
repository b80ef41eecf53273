import { fetch } from '../support/fetch';
import { createKeys, fetchToken } from '../support/merchant';
import { preload } from '../support/preload';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

afterEach(endAll);

const HOUR_MS = 3_600_000;

async function statusOf({ url }: RunningProcess, token: string, id: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${url}/api/publication/${id}`, { headers })).status;
}

test.each([['services/boot/main.js'], ['services/boot/main.js with two HTTP processes']])(
  'what was due while %s was killed is published after the next start',
  (started) =>
    withTempDir(async (folder) => {
      const main = started.split(' ')[0]!;
      const settings = { DATA_DIR: folder, DEMO: 'off', WORKERS: started === main ? '1' : '2' };
      const keys = await createKeys(settings);
      const first = await startProcess(main, settings);
      const token = await fetchToken(first.url, keys.secret);
      const publish_at = new Date(Date.now() + HOUR_MS).toISOString();
      const reply = await fetch(`${first.url}/api/publication`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ title: 'Star', price_currency: 'EUR', price_amount: 100, publish_at }),
      });
      const { id } = ((await reply.json()) as { data: { id: string } }).data;
      expect(await statusOf(first, await fetchToken(first.url, keys.public), id)).toBe(404);
      await first.end('SIGKILL');

      const second = await startProcess(main, {
        ...settings,
        NODE_OPTIONS: preload('clock-ahead'),
        CLOCK_AHEAD_MS: String(2 * HOUR_MS),
      });
      const visitor = await fetchToken(second.url, keys.public);
      await waitFor(async () => (await statusOf(second, visitor, id)) === 200);
      expect(await second.end('SIGTERM')).toBe(0);
    }),
);

test('a worker process publishes what a command process has written', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const keys = await createKeys(settings);
    const roles = ['command', 'query', 'worker'];
    const processes = await Promise.all(
      roles.map((role) => startProcess(`services/boot/main.js ${role}`, settings)),
    );
    const [command, query] = processes as [RunningProcess, RunningProcess];
    const reply = await fetch(`${command.url}/api/publication`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await fetchToken(command.url, keys.secret)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        ...{ title: 'Star', price_currency: 'EUR', price_amount: 100 },
        publish_at: new Date(Date.now() - HOUR_MS).toISOString(),
      }),
    });
    const { id } = ((await reply.json()) as { data: { id: string } }).data;
    const visitor = await fetchToken(command.url, keys.public);
    await waitFor(async () => (await statusOf(query, visitor, id)) === 200);
    expect(await Promise.all(processes.map((each) => each.end('SIGTERM')))).toEqual([0, 0, 0]);
  }));
