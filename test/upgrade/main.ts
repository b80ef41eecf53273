import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Build, buildOf, THIS_BUILD } from '../bench/other-build';
import { fetch } from '../support/fetch';
import { fetchToken } from '../support/merchant';
import { environmentWithoutServers } from '../support/own-servers';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * Runs another commit and this one on the same folder of embedded files: the other commit, this one, the other one again
 * (going back), and both side by side (an upgrade without a pause). Appends only events that both know.
 * Arguments: the commit, and the folder for its build.
 */

const [ref, builds = join(tmpdir(), 'catalog-builds')] = process.argv.slice(2);

/** Sends a request that must succeed, and returns the resource of the answer. */
async function send(url: string, token: string, method: string, path: string, body?: object) {
  const reply = await fetch(`${url}/api/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key(),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return (JSON.parse(text) as { data: { id: string; price_amount: number } }).data;
}

/** Creates a store and a secret key for it with the command line of the build. */
function createKey({ root }: Build, settings: Readonly<Record<string, string>>): string {
  const run = (...args: string[]) =>
    JSON.parse(
      execFileSync(process.execPath, [join(root, 'dist', 'services', 'cli', 'main.js'), ...args, '--json'], {
        encoding: 'utf8',
        env: { ...environmentWithoutServers(), ...settings },
      }),
    ) as { id: string; key: string };
  const account = run('account', 'create', '--name', 'Merchant').id;
  const store = run('store', 'create', '--account', account, '--name', 'Shop').id;
  return run('key', 'create', '--account', account, '--type', 'secret', '--store', store).key;
}

let keys_made = 0;
const key = (): string => `upgrade-${String(keys_made++).padStart(8, '0')}`;

async function waitUntilReady({ url }: RunningProcess, what: string): Promise<void> {
  await waitFor(async () => (await fetch(`${url}/health/ready`)).status === 200, { what });
}

async function main(other: Build, folder: string): Promise<void> {
  const settings = { DATA_DIR: folder };
  const secret = createKey(other, settings);
  const start = ({ root }: Build, role = '') =>
    startProcess(`${join(root, 'dist', 'services', 'boot', 'main.js')} ${role}`.trim(), settings, {
      catches_up: false,
    });

  const first = await start(other);
  await waitUntilReady(first, 'the other commit on a new folder');
  const token = await fetchToken(first.url, secret);
  const { id: listing_id } = await send(first.url, token, 'POST', 'listing', { name: 'Tea' });
  const product = { listing_id, title: 'Green', price_currency: 'USD', price_amount: 1 };
  const { id } = await send(first.url, token, 'POST', 'publication', product);
  const setPrice = (url: string, price_amount: number) =>
    send(url, token, 'PATCH', `publication/${id}`, { price_amount });
  const showsPrice = (url: string, price_amount: number, what: string) =>
    waitFor(
      async () =>
        (await send(url, token, 'GET', `publication/${id}?visibility=all`)).price_amount === price_amount,
      { what },
    );
  await first.end('SIGTERM');

  const second = await start(THIS_BUILD);
  await waitUntilReady(second, 'this commit on the folder of the other one');
  await setPrice(second.url, 2);
  await showsPrice(second.url, 2, 'the write of this commit');
  await second.end('SIGTERM');

  const third = await start(other);
  await waitUntilReady(third, 'the other commit, after this one');
  await showsPrice(third.url, 2, 'the other commit to show the write of this one');
  await setPrice(third.url, 3);

  const worker = await start(THIS_BUILD, 'worker');
  await waitUntilReady(worker, 'a worker of this commit next to the other commit');
  const query = await start(THIS_BUILD, 'query');
  await waitUntilReady(query, 'a query process of this commit next to the other commit');
  await showsPrice(query.url, 3, 'this commit to show the write of the other one');
  await setPrice(third.url, 4);
  await showsPrice(query.url, 4, 'this commit to show a later write of the other one');
  const command = await start(THIS_BUILD, 'command');
  await waitUntilReady(command, 'a command process of this commit');
  await setPrice(command.url, 5);
  await showsPrice(third.url, 5, 'the other commit to show the write of this one next to it');
  const all = [third, worker, query, command];
  for (const each of all) await each.end('SIGTERM');
  const faults = [first, second, ...all].flatMap((each) => each.faults);
  if (faults.length > 0) throw new Error(`requests failed:\n${faults.join('\n')}`);
}

if (!ref) throw new Error('usage: main.js COMMIT [FOLDER]');
withTempDir((folder) => main(buildOf(ref, builds), folder))
  .finally(endAll)
  .then(
    () => console.log(`this commit and ${ref} run on the same folder, one after the other and side by side`),
    (error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    },
  );
