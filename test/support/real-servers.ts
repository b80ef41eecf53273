import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir, type TempDir } from './temp-dir';

/** Names of one test's own, so that tests share a server and never each other's data. */
export const aName = (): string => `test-${randomBytes(6).toString('hex')}`;

/** `describe` where the variable names a server; else a block that is skipped, and the run says which variable is missing. */
export function describeOn(
  variable: 'REDIS_URL' | 'MONGODB_URL',
  name: string,
  stories: (url: string) => void,
): void {
  describeOnAll([variable], name, () => stories(process.env[variable]!));
}

/** The same for several servers at once. */
export function describeOnAll(variables: readonly string[], name: string, stories: () => void): void {
  const missing = variables.filter((variable) => !process.env[variable]).join(', ');
  if (missing === '') return void describe(name, stories);
  const file = basename(expect.getState().testPath ?? '');
  process.stderr.write(`skipped, for there is no ${missing}: ${file}: ${name}\n`);
  describe.skip(`${name} (skipped: no ${missing})`, () => test('needs a server', () => {}));
}

const run = promisify(execFile);

/** A server of a test's own, by `.ci/servers`: it may be stopped, killed and started, and always comes back at its address. */
export class OwnServer {
  readonly url: string;
  private readonly name: 'redis' | 'mongo';
  private readonly folder: TempDir;

  private constructor(name: 'redis' | 'mongo', folder: TempDir, url: string) {
    this.name = name;
    this.folder = folder;
    this.url = url;
  }

  static async start(name: 'redis' | 'mongo'): Promise<OwnServer> {
    const folder = makeTempDir();
    return new OwnServer(name, folder, await script(folder, 'start', name));
  }

  async start(): Promise<void> {
    await script(this.folder, 'start', this.name);
  }

  async stop(): Promise<void> {
    await script(this.folder, 'stop', this.name);
  }

  async kill(): Promise<void> {
    await script(this.folder, 'kill', this.name);
  }

  /** Connections stay open and nothing answers, until `thaw`. */
  freeze(): void {
    process.kill(this.pid(), 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid(), 'SIGCONT');
  }

  private pid(): number {
    return Number(readFileSync(join(this.folder.path, `${this.name}.pid`), 'utf8'));
  }

  async dispose(): Promise<void> {
    await this.kill();
    this.folder.remove();
  }
}

/** Answers the address that `start` prints. */
async function script(folder: TempDir, action: string, name: string): Promise<string> {
  const env = { ...process.env, CATALOG_SERVERS_DIR: folder.path };
  const { stdout } = await run('bash', ['.ci/servers', action, name], { env });
  return stdout.trim().replace(/^[A-Z_]+=/, '');
}
