import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../support/wait-for';

const FILE = 'docker-compose.yml';
const COMMAND_MS_MAX = 60_000;
const POLL_MS = 300;

/** A program was ended because it took too long. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/**
 * Runs a program to its end. Resolves with its standard output. Rejects with `TimeLimitError` after `timeout_ms`. If the
 * program fails, rejects with the last 40 lines of its output.
 */
function execute(
  program: string,
  words: readonly string[],
  { input, timeout_ms = COMMAND_MS_MAX }: { input?: string; timeout_ms?: number } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeout_ms, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const;
    const child = execFile(program, words, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const command = `${program} ${words.join(' ')}`;
      if (error.killed) return reject(new TimeLimitError(`${command} took more than ${timeout_ms / 1000} s`));
      reject(new Error(`${command}: ${(stderr + stdout).split('\n').slice(-40).join('\n')}`));
    });
    child.stdin?.on('error', () => {}).end(input);
  });
}

const answers = (program: string, ...words: string[]): boolean =>
  spawnSync(program, words, { timeout: COMMAND_MS_MAX }).status === 0;

/** The services of the compose file, as a project of its own. */
export class Compose {
  private constructor(
    private readonly command: readonly string[],
    private readonly project: string,
  ) {}

  /**
   * Returns undefined without an engine or without a compose program. The older program `docker-compose` does not know
   * `name:`, so it gets a copy without that line in `folder`.
   */
  static find(folder: string, project: string, overrides: readonly string[]): Compose | undefined {
    if (!answers('docker', 'version')) return undefined;
    const options = (file: string): string[] => [
      ...['-p', project, '--project-directory', process.cwd()],
      ...[file, ...overrides].flatMap((path) => ['-f', path]),
    ];
    if (answers('docker', 'compose', 'version'))
      return new Compose(['docker', 'compose', ...options(FILE)], project);
    if (!answers('docker-compose', 'version')) return undefined;
    const copy = join(folder, FILE);
    writeFileSync(copy, readFileSync(FILE, 'utf8').replace(/^name: .*\n/m, ''));
    return new Compose(['docker-compose', ...options(copy)], project);
  }

  run(timeout_ms: number, ...words: string[]): Promise<string> {
    const [program, ...options] = this.command;
    return execute(program!, [...options, ...words], { timeout_ms });
  }

  /** Returns the status of each service, such as `Up 5 seconds (healthy)`. */
  async statuses(): Promise<Map<string, string>> {
    const format = '{{.Label "com.docker.compose.service"}}\t{{.Status}}';
    const text = await this.list('-a', '--format', format);
    return new Map(text.map((line) => line.split('\t') as [string, string]));
  }

  /** Returns the id of a service's container, also of a stopped one. */
  private async id(service: string): Promise<string> {
    const [id] = await this.list('-aq', '--filter', `label=com.docker.compose.service=${service}`);
    if (!id) throw new Error(`there is no container of ${service}`);
    return id;
  }

  private async list(...options: string[]): Promise<string[]> {
    const ofProject = ['--filter', `label=com.docker.compose.project=${this.project}`];
    return (await execute('docker', ['ps', ...ofProject, ...options])).split('\n').filter(Boolean);
  }

  async kill(service: string): Promise<void> {
    await execute('docker', ['kill', await this.id(service)]);
  }

  /** Stops a service with its stop signal. */
  async stop(service: string): Promise<void> {
    await execute('docker', ['stop', '-t', '20', await this.id(service)]);
  }

  async start(service: string): Promise<void> {
    await execute('docker', ['start', await this.id(service)]);
  }

  /** Runs a command in the container of a service. */
  async exec(service: string, words: readonly string[], input?: string): Promise<string> {
    const options = { timeout_ms: 2 * COMMAND_MS_MAX, ...(input === undefined ? {} : { input }) };
    return execute('docker', ['exec', '-i', await this.id(service), ...words], options);
  }

  /** Waits until a process of the catalog is ready, sooner than its next health check tells. */
  async untilReady(service: string): Promise<void> {
    // Without Node.js, which would take much of the CPU time that the process needs to start.
    const request = "printf 'GET /health/ready HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n' >&3";
    const check = `exec 3<>/dev/tcp/127.0.0.1/8080 && ${request} && head -n 1 <&3 | grep -q ' 200 '`;
    await waitFor(
      async () => {
        await sleep(POLL_MS);
        await this.exec(service, ['bash', '-c', check]);
        return true;
      },
      { what: `${service} to be ready` },
    );
  }

  /** Waits until every service with a health check is healthy. */
  async untilHealthy(timeout_ms: number): Promise<void> {
    const areHealthy = async (): Promise<boolean> => {
      await sleep(POLL_MS);
      return [...(await this.statuses()).values()].every((status) => status.endsWith('(healthy)'));
    };
    await waitFor(areHealthy, { timeout_ms, what: 'healthy containers' });
  }

  /** Removes the containers, the network and the volumes. */
  async down(): Promise<void> {
    await this.run(2 * COMMAND_MS_MAX, 'down', '-v', '--remove-orphans', '-t', '5');
  }
}
