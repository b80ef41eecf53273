import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EventStoreDBClient } from '@eventstore/db-client';
import { Redis } from 'ioredis';
import { freezeProcess } from '../freeze-process';
import { freeOwnPort } from '../own-port';
import { containerVariable, withDatabase } from '../own-servers';
import { makeTempDir, type TempDir } from '../temp-dir';
import { WAIT_MS_MAX, waitFor, within } from '../wait-for';
import { ContainerServer } from './containers';
import type { ServerKind } from './images';

/** A server that one test may stop, kill and start again. It keeps its address and its data. */
export interface OwnServer {
  readonly url: string;
  start(): Promise<void>;
  /** Stops it with SIGTERM. */
  stop(): Promise<void>;
  /** Stops it with SIGKILL. */
  kill(): Promise<void>;
  /** Keeps connections open without answering, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Stops it and removes its data. */
  dispose(): Promise<void>;
}

/**
 * Starts EventStoreDB with the command in `EVENTSTORE_COMMAND`, if it is set. Starts a server in a container if the
 * shared servers run in containers. Otherwise starts a process with `.ci/servers`, or the stand-in for EventStoreDB.
 */
export async function startOwnServer(kind: ServerKind): Promise<OwnServer> {
  const command = process.env.EVENTSTORE_COMMAND;
  if (kind === 'eventstore' && command) return CommandServer.start(command);
  if (process.env[containerVariable(kind)]) return ContainerServer.start(kind);
  return kind === 'eventstore' ? CommandServer.start(STAND_IN) : ScriptServer.start(kind);
}

/** Servers that the test starts itself, so that it may kill, stop, empty and restart them. */
export class OwnServers {
  private constructor(
    readonly redis: OwnServer,
    readonly mongo: OwnServer,
    readonly event_store: OwnServer,
  ) {}

  static async start(): Promise<OwnServers> {
    const kinds = ['redis', 'mongo', 'eventstore'] as const;
    const [redis, mongo, event_store] = await Promise.all(kinds.map(startOwnServer));
    return new OwnServers(redis!, mongo!, event_store!);
  }

  get settings(): Record<string, string> {
    return {
      EVENTSTORE_URL: this.event_store.url,
      REDIS_URL: this.redis.url,
      MONGODB_URL: withDatabase(this.mongo.url, 'catalog'),
    };
  }

  async flushRedis(): Promise<void> {
    const redis = new Redis(this.redis.url);
    await redis.flushall();
    redis.disconnect();
  }

  async dispose(): Promise<void> {
    await Promise.all([this.redis, this.mongo, this.event_store].map((server) => server.dispose()));
  }
}

const run = promisify(execFile);

const STAND_IN = `node ${join(__dirname, '../eventstore-standin/main.js')} --data "$DATA" --port "$PORT"`;

/** A process that `.ci/servers` starts. */
class ScriptServer implements OwnServer {
  private constructor(
    private readonly kind: 'redis' | 'mongo',
    private readonly folder: TempDir,
    readonly url: string,
  ) {}

  static async start(kind: 'redis' | 'mongo'): Promise<ScriptServer> {
    const folder = makeTempDir();
    return new ScriptServer(kind, folder, await script(folder, 'start', kind));
  }

  async start(): Promise<void> {
    await script(this.folder, 'start', this.kind);
  }

  async stop(): Promise<void> {
    await script(this.folder, 'stop', this.kind);
  }

  async kill(): Promise<void> {
    await script(this.folder, 'kill', this.kind);
  }

  freeze(): Promise<void> {
    return freezeProcess(this.pid());
  }

  async thaw(): Promise<void> {
    process.kill(this.pid(), 'SIGCONT');
  }

  async dispose(): Promise<void> {
    await this.kill();
    this.folder.remove();
  }

  private pid(): number {
    return Number(readFileSync(join(this.folder.path, `${this.kind}.pid`), 'utf8'));
  }
}

/** Runs `.ci/servers`. Returns the address that it prints. */
async function script(folder: TempDir, action: string, kind: string): Promise<string> {
  const env = { ...process.env, CATALOG_SERVERS_DIR: folder.path };
  const { stdout } = await run('bash', ['.ci/servers', action, kind], { env, timeout: 2 * WAIT_MS_MAX });
  return stdout.trim().replace(/^[A-Z_]+=/, '');
}

/** How much of its output a server keeps for an error message. */
const PRINTED_LENGTH_MAX = 4_000;

/**
 * An EventStoreDB, or the stand-in for it, that a command starts. `bash` executes the command with these variables:
 * - `DATA`: an empty folder for the server's files, the same after a restart.
 * - `PORT`: the port to listen on at 127.0.0.1, without TLS, the same after a restart.
 * It gets no `EVENTSTORE_*`: the server takes each such variable as an option, and exits for one that it does not know.
 */
class CommandServer implements OwnServer {
  private printed = '';
  private child: ChildProcess | undefined;

  private constructor(
    private readonly command: string,
    private readonly folder: TempDir,
    private readonly port: number,
  ) {}

  static async start(command: string): Promise<CommandServer> {
    const server = new CommandServer(command, makeTempDir(), await freeOwnPort());
    await server.start();
    return server;
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.port}?tls=false`;
  }

  async start(): Promise<void> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('EVENTSTORE_'));
    const env = { ...Object.fromEntries(inherited), DATA: this.folder.path, PORT: String(this.port) };
    // With `exec`, the process id is that of the server.
    const child = spawn('bash', ['-c', `exec ${this.command}`], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    const keep = (chunk: Buffer): void => {
      this.printed = `${this.printed}${chunk}`.slice(-PRINTED_LENGTH_MAX);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const closed = once(child, 'close');
    try {
      await waitFor(() => this.has_ended || this.answers(), { what: 'the server to answer' });
      if (this.has_ended) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    } catch (cause) {
      if (this.has_ended) await within(closed, 'the output of the command');
      throw new Error(`the command does not start a server: ${this.command}\nIt printed:\n${this.printed}`, {
        cause,
      });
    }
  }

  private get has_ended(): boolean {
    const { child } = this;
    return !child || child.exitCode !== null || child.signalCode !== null;
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  freeze(): Promise<void> {
    return freezeProcess(this.child!.pid!);
  }

  async thaw(): Promise<void> {
    this.child!.kill('SIGCONT');
  }

  async dispose(): Promise<void> {
    await this.kill();
    this.folder.remove();
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (!child || this.has_ended) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await within(gone, `EventStoreDB to exit after ${signal}`);
  }

  /** A server that has just started refuses calls until it is the leader. */
  private async answers(): Promise<boolean> {
    const client = EventStoreDBClient.connectionString(`${this.url}&throwOnAppendFailure=true`);
    try {
      for await (const _event of client.readAll({ maxCount: 1 }));
      return true;
    } finally {
      await client.dispose();
    }
  }
}
