import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Maintain } from '../../projections/maintenance/tasks';
import type { MetricsText } from '../../shared/http/metrics';
import type { ReadyCheck, ReadyState } from '../../shared/http/operational';
import { type Config, ConfigError } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { Child, type ChildCalls, Supervisor } from '../../shared/kernel/processes';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { ProcessMetrics } from '../metrics/process-metrics';
import type { MetricsSnapshot } from '../metrics/service-metrics';
import type { Commit, Commits } from './commits';
import { HAS_REUSE_PORT } from './listen';
import { type ChildOptions, STOP_TIMEOUT_MS } from './process';
import type { OnDamage, Runtime } from './runtime';

/** An HTTP process that takes longer to report its state, for example because it is frozen, is left out of the report. */
const REPORT_TIMEOUT_MS = 2_000;
/** How long a sum of metrics is kept, because it takes 12 to 40 ms of the main process. */
const SUM_KEPT_MS = 1_000;

/** What an HTTP process answers. */
export interface HttpCalls extends ChildCalls {
  ready(): Promise<ReadyState>;
  metrics(): Promise<MetricsSnapshot>;
  committed(commit: Commit): void;
}

/** What the main process answers to an HTTP process. `ready` and `metrics` are about the whole service. */
export type MainCalls = {
  ready(): Promise<ReadyState>;
  metrics(): Promise<MetricsText>;
  maintain: Maintain;
  listening(url: string): void;
  damaged(damage: Parameters<OnDamage>[0]): void;
  mediaTask(task: MediaTask): Promise<void>;
  committed(commit: Commit): void;
};

/** What the HTTP processes need of the main process. */
interface Options {
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly count: number;
  /** The readiness of the main process. */
  readonly ready: ReadyCheck;
  readonly maintain: Maintain;
  readonly onDamage: OnDamage;
  readonly commits: Commits | undefined;
}

type HttpProcess = Child<HttpCalls>;

/**
 * Serves requests in `count` processes that listen on one port: the system chooses one of them for each new connection.
 * If one crashes, it is started again, and requests on the others continue. See `docs/decisions/0029-http-processes.md`.
 */
export class HttpProcesses {
  /** Resolves to the address when all processes listen. Rejects if one of them ends before. */
  readonly url: Promise<string>;
  private readonly supervisors: readonly Supervisor<HttpCalls>[];
  /** The processes that listen. */
  private readonly listening = new Set<HttpProcess>();
  private readonly metrics = new ProcessMetrics<HttpProcess>();
  private summing: Promise<MetricsText> | undefined;
  private onAllListen: (url: string) => void = () => {};

  private constructor(
    private readonly options: Options,
    private readonly port: number,
  ) {
    let onFailure = (_: Error): void => {};
    this.url = new Promise((resolve, reject) => {
      this.onAllListen = resolve;
      onFailure = reject;
    });
    this.supervisors = Array.from({ length: options.count }, (_, index) => {
      const number = index + 1;
      return new Supervisor(
        () => this.start(number),
        (crash) => {
          // Has no effect once all processes have listened.
          onFailure(new Error(crash.failure));
          options.runtime.metrics.processRestarted('http');
          options.log.error({ number, ...crash }, 'an HTTP process has crashed; restarting it');
        },
      );
    });
  }

  /** Starts the processes. Rejects with the error of Node if the port cannot be opened. */
  static async start(options: Options): Promise<HttpProcesses> {
    return new HttpProcesses(options, await findPort(options.runtime.config));
  }

  /** Accepts no new requests, finishes the running ones, and appends the counted views. */
  async stop(): Promise<void> {
    await Promise.all(this.supervisors.map((supervisor) => supervisor.stop(STOP_TIMEOUT_MS)));
  }

  /** The readiness of the whole service: that of this process, or of an HTTP process that is not ready. */
  readonly ready: ReadyCheck = async () => {
    const [own, answers] = await Promise.all([this.options.ready(), this.askAll('ready')]);
    const failing = own.ok ? [...answers.values()].find(({ ok }) => !ok) : undefined;
    const http_processes = { expected: this.options.count, answering: answers.size };
    return { ok: (failing ?? own).ok, details: { ...own.details, ...failing?.details, http_processes } };
  };

  private start(number: number): HttpProcess {
    const { runtime, commits, onDamage, maintain } = this.options;
    const calls: MainCalls = {
      ready: this.ready,
      metrics: () => this.metricsText(),
      maintain,
      listening: (url) => {
        this.listening.add(child);
        if (this.listening.size === this.options.count) this.onAllListen(url);
      },
      damaged: onDamage,
      // A task that cannot be added counts as lost, and is added later.
      mediaTask: (task) => runtime.mediaTasks.add(task).catch(() => {}),
      committed: (commit) => connection?.receive(commit),
    };
    const options: ChildOptions = { config: { ...runtime.config, PORT: this.port }, name: `http-${number}` };
    const child: HttpProcess = Child.start('http', calls, { options });
    const connection = commits?.connect((commit) => {
      // An HTTP process follows no other log.
      if (commit.file === 'documents' || commit.realm === 'control') child.tell('committed', commit);
    });
    void child.ended.then(() => {
      connection?.disconnect();
      this.listening.delete(child);
      this.metrics.end(child);
    });
    return child;
  }

  /** Scrapes within a second share one sum. An older one that arrives later would let counters fall. */
  private metricsText(): Promise<MetricsText> {
    this.summing ??= this.sumOfMetrics().finally(() => {
      setTimeout(() => {
        this.summing = undefined;
      }, SUM_KEPT_MS).unref();
    });
    return this.summing;
  }

  private async sumOfMetrics(): Promise<MetricsText> {
    const { metrics } = this.options.runtime;
    const [own, answers] = await Promise.all([metrics.snapshot(), this.askAll('metrics')]);
    return this.metrics.sum(own, answers);
  }

  /** Returns the answers of the processes that listen. One that takes too long is missing. */
  private async askAll<Name extends 'ready' | 'metrics'>(name: Name) {
    const answers = new Map<HttpProcess, Awaited<ReturnType<HttpCalls[Name]>>>();
    const ask = async (child: HttpProcess): Promise<void> => {
      const answer = await child.ask(name, undefined as never, REPORT_TIMEOUT_MS);
      if (answer !== undefined && this.listening.has(child)) answers.set(child, answer as never);
    };
    await Promise.all([...this.listening].map(ask));
    return answers;
  }
}

/** Throws `ConfigError` if `count` processes cannot listen on one port. */
export function checkProcessCount(count: number): void {
  if (count > 1 && !HAS_REUSE_PORT)
    throw new ConfigError(
      `WORKERS above 1 needs Node.js 22.12 or newer, and this is ${process.versions.node}. ` +
        'Install a newer one, or set WORKERS=1.',
    );
}

/**
 * Returns the port to listen on: PORT, or a free one if PORT is 0. Rejects if another program listens on it. Without
 * this check, the processes would share the port with another service that also uses `reusePort`.
 */
async function findPort({ HOST, PORT }: Config): Promise<number> {
  const server = createServer();
  const listening = once(server, 'listening');
  server.listen(PORT, HOST);
  await listening;
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
