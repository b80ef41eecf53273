import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from '../support/fetch';
import { startHarness } from '../support/harness';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { type StockedShop, stockShop } from './reads-shop';

/** Maximum number of source files that a request executes. To follow a request, an engineer has to read all of them. */
const POST_FILES_MAX = 40;
const GET_FILES_MAX = 28;

/** Longer than the service caches keys, accounts and stores, so that the measured request reads them. */
const CACHE_EXPIRY_MS = 1_500;

const PRELOAD = join(__dirname, '..', 'support', 'executed-files.js');
const temporary = makeTempDir();
const data = makeTempDir();
let shop: StockedShop;

/** A command or query process that reports the files that it executes. */
class MeasuredProcess {
  private readonly running: RunningProcess;
  private readonly output: string;

  private constructor(running: RunningProcess, output: string) {
    this.running = running;
    this.output = output;
  }

  static async start(name: 'command' | 'query'): Promise<MeasuredProcess> {
    const output = join(temporary.path, `${name}.json`);
    const settings = { DATA_DIR: data.path, EXECUTED_FILES: output };
    const options = { node_arguments: ['--require', PRELOAD] };
    const running = await startProcess(`services/boot/main-${name}.js`, settings, options);
    return new MeasuredProcess(running, output);
  }

  /** Returns the files that the request executes and that an idle process does not. */
  async filesOf(path: string, request: RequestInit): Promise<string[]> {
    const send = async (): Promise<void> => {
      const reply = await fetch(`${this.running.url}${path}`, request);
      expect([reply.status, await reply.text()]).toEqual([
        request.method === 'POST' ? 201 : 200,
        expect.any(String),
      ]);
    };
    // The first requests execute code that runs only once.
    await send();
    await send();
    await sleep(CACHE_EXPIRY_MS);
    await this.executed();
    await sleep(CACHE_EXPIRY_MS);
    const idle = new Set(await this.executed());
    await send();
    // The process logs the request and closes the connection after the response.
    await sleep(50);
    return (await this.executed()).filter((file) => !idle.has(file));
  }

  /** Returns the files executed since the last call. */
  private async executed(): Promise<string[]> {
    rmSync(this.output, { force: true });
    this.running.child.kill('SIGUSR2');
    return waitFor(() => JSON.parse(readFileSync(this.output, 'utf8')) as string[]);
  }
}

beforeAll(async () => {
  const harness = await startHarness({ environment: { DATA_DIR: data.path } });
  shop = await stockShop(harness);
  await harness.close();
});
afterAll(() => {
  endAll();
  temporary.remove();
  data.remove();
});

const authorization = (token: string) => ({ authorization: `Bearer ${token}` });

test(`POST /api/publication executes at most ${POST_FILES_MAX} files`, async () => {
  const command = await MeasuredProcess.start('command');
  const files = await command.filesOf('/api/publication', {
    method: 'POST',
    // Without `respond-async` the response would wait for the worker, which does not run here.
    headers: {
      ...authorization(shop.secret.token),
      'content-type': 'application/json',
      prefer: 'respond-async',
    },
    body: JSON.stringify({ title: 'Cup', price_currency: 'EUR', price_amount: 100 }),
  });
  expect(tooMany(files, POST_FILES_MAX)).toBe('');
});

test(`GET /api/listing/:id/publications executes at most ${GET_FILES_MAX} files`, async () => {
  const query = await MeasuredProcess.start('query');
  const path = `/api/listing/${shop.listings.Shirts}/publications`;
  const files = await query.filesOf(path, { method: 'GET', headers: authorization(shop.public.token) });
  expect(tooMany(files, GET_FILES_MAX)).toBe('');
});

/** Returns an empty text if there are at most `max` files, otherwise a list of them. */
function tooMany(files: readonly string[], max: number): string {
  expect(files).toContain('shared/http/request.js');
  return files.length <= max ? '' : `${files.length} files:\n${files.join('\n')}`;
}
