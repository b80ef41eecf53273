import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freeOwnPort, listenOn } from '../support/own-port';
import { environmentWithoutServers } from '../support/own-servers';
import { withTempDir } from '../support/temp-dir';
import { TWO_WORKERS } from '../support/two-workers';
import { waitFor, within } from '../support/wait-for';

/*
 * `npm run up` with the script and the files of this project, in a small project whose only package is a local folder,
 * so that npm needs no registry. `npm start` starts a stand-in that listens, like the service.
 */

const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> })
  .scripts;

const STAND_IN = `
require('node:net').createServer().listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'));
`;

/** Compiles nothing, but counts its runs. */
const BUILD = `node -e "require('node:fs').appendFileSync('builds', '.')"`;

class Project {
  private readonly running: ChildProcess[] = [];

  constructor(readonly folder: string) {
    const write = (path: string, content: object): void =>
      writeFileSync(join(folder, path), JSON.stringify(content));
    for (const name of ['part', 'services', 'dist/services/boot'])
      mkdirSync(join(folder, name), { recursive: true });
    cpSync('services/boot', join(folder, 'services/boot'), { recursive: true });
    writeFileSync(join(folder, 'dist/services/boot/main.js'), STAND_IN);
    const dependencies = { part: 'file:part' };
    const own = { name: 'small', version: '1.0.0' };
    const { up, start } = scripts;
    const engines = { node: '>=20.19' };
    write('package.json', { ...own, engines, dependencies, scripts: { up, start, build: BUILD } });
    this.lock('1.0.0');
  }

  /** Writes a lock file that asks for a version of the package. */
  lock(version: string): void {
    const packages = {
      '': {
        name: 'small',
        version: '1.0.0',
        engines: { node: '>=20.19' },
        dependencies: { part: 'file:part' },
      },
      'node_modules/part': { resolved: 'part', link: true },
      part: { version },
    };
    const lock = { name: 'small', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
    writeFileSync(join(this.folder, 'part', 'package.json'), JSON.stringify({ name: 'part', version }));
    writeFileSync(join(this.folder, 'package-lock.json'), JSON.stringify(lock));
  }

  /** Puts a file into node_modules. An installation removes it. */
  leaveTrace(): void {
    writeFileSync(this.trace, '');
  }

  get installedSince(): boolean {
    return !existsSync(this.trace);
  }

  get builds(): number {
    return readFileSync(join(this.folder, 'builds')).length;
  }

  /** Runs `npm run up`, or another script. Resolves when it has ended, or when the stand-in listens. */
  async up(port: number, script = 'up') {
    const child = spawn('npm', ['run', script], {
      cwd: this.folder,
      env: { ...process.env, PORT: String(port), HOST: '127.0.0.1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.running.push(child);
    let output = '';
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (text) => {
        output += text;
      });
    const closed = once(child, 'close');
    await waitFor(() => child.exitCode !== null || output.includes('listening\n'), {
      what: `npm run ${script}`,
    });
    const listening = child.exitCode === null;
    if (!listening) await closed;
    const end = async (): Promise<void> => {
      process.kill(-child.pid!, 'SIGKILL');
      await closed;
    };
    /** Stops only npm. Resolves when all processes that npm has started have ended, too. */
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      await within(closed, 'the processes of npm to end');
    };
    return { listening, code: child.exitCode, output, end, stop };
  }

  endAll(): void {
    // A group also exists if npm has ended and a process that it started has not.
    for (const { pid } of this.running)
      try {
        process.kill(-pid!, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
  }

  private get trace(): string {
    return join(this.folder, 'node_modules', 'trace');
  }
}

const inProject = (story: (project: Project) => Promise<void>): Promise<void> =>
  withTempDir(async (folder) => {
    const project = new Project(folder);
    try {
      await story(project);
    } finally {
      project.endAll();
    }
  });

test('npm run up installs on a fresh clone, and again only if the lock file has changed', () =>
  inProject(async (project) => {
    const port = await freeOwnPort();
    const first = await project.up(port);
    expect(first).toMatchObject({ listening: true });
    await first.end();
    project.leaveTrace();

    const second = await project.up(port);
    expect(second).toMatchObject({ listening: true });
    await second.end();
    expect(project.installedSince).toBe(false);

    project.lock('2.0.0');
    const third = await project.up(port);
    expect(third).toMatchObject({ listening: true });
    expect(project.installedSince).toBe(true);
  }));

test.each(['start', 'up'])('npm run %s ends Node when npm is stopped', (script) =>
  inProject(async (project) => {
    const running = await project.up(await freeOwnPort(), script);
    expect(running).toMatchObject({ listening: true });
    await running.stop();
  }),
);

test('npm run up installs nothing while its port is in use', () =>
  inProject(async (project) => {
    const server = createServer();
    const port = await freeOwnPort();
    await listenOn(server, port);
    try {
      const refused = await project.up(port);
      expect(refused).toMatchObject({ listening: false, code: 1 });
      expect(refused.output).toContain(`Port ${port} is in use.`);
      expect(refused.output).toContain(`PORT=${port + 1} npm run up\n`);
      expect(existsSync(join(project.folder, 'node_modules'))).toBe(false);
    } finally {
      server.close();
    }
  }));

test('a process of the service names another port if its own is in use', () =>
  withTempDir(async (folder) => {
    const server = createServer();
    const port = await freeOwnPort();
    // As another service with several processes does.
    await listenOn(server, port, { reusePort: true });
    try {
      const env = {
        ...environmentWithoutServers(),
        DATA_DIR: folder,
        PORT: String(port),
        LOG_LEVEL: 'silent',
      };
      for (const [name, service, settings] of [
        ['all', 'catalog'],
        ['all', 'catalog', TWO_WORKERS],
        ['query', 'query'],
      ] as const) {
        const child = spawn(process.execPath, ['dist/services/boot/main.js', name], {
          env: { ...env, ...settings },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let stderr = '';
        child.stderr.on('data', (text) => {
          stderr += text;
        });
        const [code] = await within(once(child, 'close'), `${name} to exit`);
        expect({ name, code, stderr }).toEqual({
          ...{ name, code: 1 },
          stderr: `${service}: Port ${port} is in use. Set another one, such as PORT=${port + 1}.\n`,
        });
      }
    } finally {
      server.close();
    }
  }));
