import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { exitCodeOf, lineOf } from '../../services/cli/invocation';
import { buildProgram } from '../../services/cli/program';
import { environmentWithoutServers } from '../support/own-servers';
import { makeTempDir, type TempDir, withTempDir } from '../support/temp-dir';
import { within } from '../support/wait-for';

/** On a busy machine, a rebuild during writes takes a minute or two. */
const RUN_MS_MAX = 180_000;
const MAIN = join(__dirname, '..', '..', 'services', 'cli', 'main.js');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the compiled command line on a data folder. */
export class Cli {
  constructor(
    readonly folder: string,
    protected readonly environment: Record<string, string> = {},
  ) {}

  start(...args: string[]): ChildProcess {
    return this.spawn('ignore', args);
  }

  private spawn(stdin: 'ignore' | 'pipe', args: readonly string[]): ChildProcess {
    const { NODE_OPTIONS: _, ...inherited } = environmentWithoutServers();
    return spawn(process.execPath, [MAIN, ...args], {
      env: { ...inherited, DATA_DIR: this.folder, ...this.environment },
      stdio: [stdin, 'pipe', 'pipe'],
    });
  }

  async run(...args: string[]): Promise<Ended> {
    return ended(this.start(...args));
  }

  /** Runs a command that reads `input`. Leaves its standard input open, like a terminal. */
  async runWithInput(input: string, ...args: string[]): Promise<Ended> {
    const child = this.spawn('pipe', args);
    // The command may end before it has read everything.
    child.stdin!.on('error', () => {}).write(input);
    return ended(child);
  }

  /** Runs a command with a whole file as standard input. */
  async runWithFile(content: string, ...args: string[]): Promise<Ended> {
    const child = this.spawn('pipe', args);
    child.stdin!.on('error', () => {}).end(content);
    return ended(child);
  }

  /** Runs a command with `--json` and returns the parsed output. Throws if it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of the output
  async json(...args: string[]): Promise<any> {
    const { code, stdout, stderr } = await this.run(...args, '--json');
    if (code !== 0) throw new Error(`catalog ${args.join(' ')}: ${code} ${stderr}`);
    return JSON.parse(stdout);
  }

  async account(name = 'Merchant'): Promise<string> {
    return (await this.json('account', 'create', '--name', name)).id;
  }

  async store(account: string, ...options: string[]): Promise<string> {
    return (await this.json('store', 'create', '--account', account, '--name', 'Shop', ...options)).id;
  }
}

/** Runs commands in this process, one after another, which takes a tenth of the time. */
export class InProcessCli extends Cli {
  private static last: Promise<unknown> = Promise.resolve();

  override run(...args: string[]): Promise<Ended> {
    return this.runHere(Readable.from([]), args);
  }

  override runWithInput(input: string, ...args: string[]): Promise<Ended> {
    const stdin = new PassThrough();
    stdin.write(input);
    return this.runHere(stdin, args);
  }

  override runWithFile(content: string, ...args: string[]): Promise<Ended> {
    return this.runHere(Readable.from([content]), args);
  }

  private runHere(stdin: Readable, args: readonly string[]): Promise<Ended> {
    const settings = { DATA_DIR: this.folder, ...this.environment };
    const running = InProcessCli.last.then(() => runHere(settings, stdin, args));
    InProcessCli.last = running.catch(() => undefined);
    return running;
  }
}

/** Does what `services/cli/main.ts` does, and returns what the command prints. */
async function runHere(
  settings: Record<string, string>,
  stdin: Readable,
  args: readonly string[],
): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text: unknown, ...rest: unknown[]) => {
      printed[name] += text;
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    }),
  );
  const environment = process.env;
  const own_stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!;
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  const listeners = process.listeners('SIGINT');
  process.env = { ...environmentWithoutServers(), ...settings };
  try {
    await within(
      buildProgram().parseAsync(args, { from: 'user' }),
      `catalog ${args.join(' ')} to end`,
      RUN_MS_MAX,
    );
    return { code: Number(process.exitCode ?? 0), ...printed };
  } catch (error) {
    const line = lineOf(error);
    if (line !== undefined) printed.stderr += `${line}\n`;
    return { code: exitCodeOf(error), ...printed };
  } finally {
    process.exitCode = undefined;
    process.env = environment;
    Object.defineProperty(process, 'stdin', own_stdin);
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      for (const listener of process.listeners(signal))
        if (!listeners.includes(listener)) process.off(signal, listener);
    for (const spy of spies) spy.mockRestore();
  }
}

async function ended(child: ChildProcess): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const command = `catalog ${child.spawnargs.slice(2).join(' ')}`;
  try {
    const [code] = await within(closed, `${command} to end`, RUN_MS_MAX);
    return { code, stdout, stderr };
  } finally {
    child.kill('SIGKILL');
  }
}

/** A catalog of one store, which only the running test has. */
export interface CopiedCatalog {
  readonly cli: InProcessCli;
  readonly account: string;
  readonly store: string;
  /** For further files. The data folder is in it. */
  readonly folder: string;
}

/**
 * Returns a function that runs a story on a copy of a catalog with a store, into which the rows were imported. The catalog
 * is made once per file: that takes three commands.
 */
export function copiedCatalog(rows: readonly object[], ...options: string[]) {
  let original: TempDir | undefined;
  let ids: Pick<CopiedCatalog, 'account' | 'store'>;
  const make = async (): Promise<string> => {
    if (original) return original.path;
    original = makeTempDir();
    const cli = new InProcessCli(join(original.path, 'data'));
    const account = await cli.account();
    ids = { account, store: await cli.store(account, ...options) };
    const path = join(original.path, 'rows.jsonl');
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    if (rows.length > 0) await cli.json('import', path, '--format', 'jsonl', '--store', ids.store);
    return original.path;
  };
  afterAll(() => original?.remove());
  return (story: (catalog: CopiedCatalog) => Promise<void>): Promise<void> =>
    withTempDir(async (folder) => {
      cpSync(await make(), folder, { recursive: true });
      await story({ cli: new InProcessCli(join(folder, 'data')), folder, ...ids });
    });
}

/** Expects a failure: one line on standard error, no stack, nothing on standard output. */
export function expectFailure(result: Ended, code: number, text: string | RegExp): void {
  expect(result.stderr).toMatch(text);
  expect(result.stderr).toMatch(/^catalog: .+\n$/);
  expect(result.stderr).not.toMatch(/\n\s+at /);
  expect(result.stdout).toBe('');
  expect(result.code).toBe(code);
}
