import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freeOwnPort } from './own-port';
import { waitFor, within } from './wait-for';

/** A Redis server with options of its own, for one test file. Needs the program `redis-server`. */
export class OwnRedis {
  private child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly options: readonly string[],
    /** The configuration file, if there is one. */
    private readonly configuration: readonly string[] = [],
  ) {}

  /** `options` are those of the command line, such as `['--requirepass', 'x']`. Resolves when it answers. */
  static async start(folder: string, ...options: string[]): Promise<OwnRedis> {
    const redis = new OwnRedis(await freeOwnPort(), ['--dir', folder, '--save', '', ...options]);
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts a Sentinel that knows the primary as `mymaster`. It fails over half a second after the primary has died. */
  static async startSentinel(folder: string, primary: OwnRedis): Promise<OwnRedis> {
    const file = join(folder, 'sentinel.conf');
    const lines = [
      `sentinel monitor mymaster 127.0.0.1 ${primary.port} 1`,
      'sentinel down-after-milliseconds mymaster 500',
      'sentinel failover-timeout mymaster 2000',
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    const sentinel = new OwnRedis(await freeOwnPort(), ['--sentinel'], [file]);
    await sentinel.start();
    return sentinel;
  }

  async start(): Promise<void> {
    const address = ['--bind', '127.0.0.1', '--port', String(this.port)];
    const options = [...this.configuration, ...address, ...this.options];
    this.child = spawn('redis-server', options, { stdio: 'ignore' });
    await waitFor(() => this.answers(), { what: 'redis-server to answer' });
  }

  async stop(): Promise<void> {
    if (!this.child || this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await within(gone, 'redis-server to exit');
  }

  /** Runs commands on one connection, which logs in if there is a password. */
  async run(commands: readonly string[][], password?: string): Promise<void> {
    const redis = new Redis(this.url, { retryStrategy: () => null, ...(password && { password }) });
    redis.on('error', () => {});
    for (const [name = '', ...args] of commands) await redis.call(name, ...args);
    redis.disconnect();
  }

  /** A refusal is an answer, too. */
  private async answers(): Promise<boolean> {
    const socket = connect(this.port, '127.0.0.1').on('error', () => {});
    try {
      socket.write('PING\r\n');
      await once(socket, 'data');
      return true;
    } finally {
      socket.destroy();
    }
  }
}
