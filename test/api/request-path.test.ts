import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHarness } from '../support/harness';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { type StockedShop, stockShop } from './reads-shop';

/** How many files of ours a request may pass through; a new engineer has to read them all to follow it. */
const POST_FILES_MAX = 37;
const GET_FILES_MAX = 28;

/** Longer than keys, accounts and stores stay cached, so that the measured request reads them. */
const CACHED_MS = 1_500;

const PRELOAD = join(__dirname, '..', 'support', 'executed-files.js');
const temporary = makeTempDir();
const data = makeTempDir();
let shop: StockedShop;

/** A command or query process that tells which files it has executed. */
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

  /** The files that the request executes and that an idle process does not. */
  async filesOf(path: string, request: RequestInit): Promise<string[]> {
    const send = async (): Promise<void> => {
      const answer = await fetch(`${this.running.url}${path}`, request);
      expect([answer.status, await answer.text()]).toEqual([
        request.method === 'POST' ? 201 : 200,
        expect.any(String),
      ]);
    };
    // What is loaded and made once is not on every request's path.
    await send();
    await send();
    await sleep(CACHED_MS);
    await this.executed();
    await sleep(CACHED_MS);
    const idle = new Set(await this.executed());
    await send();
    // The access log and the end of the connection come after the answer.
    await sleep(50);
    return (await this.executed()).filter((file) => !idle.has(file));
  }

  /** The files executed since the last call. */
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

test(`POST /api/publication passes through at most ${POST_FILES_MAX} files`, async () => {
  const command = await MeasuredProcess.start('command');
  const files = await command.filesOf('/api/publication', {
    method: 'POST',
    // Without it the answer waits for the worker, which does not run here.
    headers: {
      ...authorization(shop.secret.token),
      'content-type': 'application/json',
      prefer: 'respond-async',
    },
    body: JSON.stringify({ title: 'Cup', price_currency: 'EUR', price_amount: 100 }),
  });
  expect(tooMany(files, POST_FILES_MAX)).toBe('');
});

test(`GET /api/listing/:id/publications passes through at most ${GET_FILES_MAX} files`, async () => {
  const query = await MeasuredProcess.start('query');
  const path = `/api/listing/${shop.listings.Shirts}/publications`;
  const files = await query.filesOf(path, { method: 'GET', headers: authorization(shop.public.token) });
  expect(tooMany(files, GET_FILES_MAX)).toBe('');
});

/** Empty where it is not more than `max`; a message that lists the files otherwise. */
function tooMany(files: readonly string[], max: number): string {
  expect(files).toContain('shared/http/request.js');
  return files.length <= max ? '' : `${files.length} files:\n${files.join('\n')}`;
}
