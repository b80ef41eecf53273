import cluster, { type Worker } from 'node:cluster';
import type { Maintain } from '../../projections/maintenance/tasks';
import type { MetricsText } from '../../shared/http/metrics';
import type { ReadyCheck, ReadyState } from '../../shared/http/operational';
import type { Logger } from '../../shared/kernel/log';
import { Child, type ChildCalls, MAIN_FILE, Supervisor } from '../../shared/kernel/processes';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { ProcessMetrics } from '../metrics/process-metrics';
import type { MetricsSnapshot } from '../metrics/service-metrics';
import type { Commit, Commits } from './commits';
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

export interface HttpOptions extends ChildOptions {
  /** Whether the processes notify each other of commits. */
  readonly shares_commits: boolean;
}

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
 * Serves requests in `count` processes that share one port: `node:cluster` accepts connections in this process and hands
 * them to the others in turn. If one crashes, it is started again, and requests on the others continue. See
 * `docs/decisions/0029-http-processes.md`.
 */
export class HttpProcesses {
  /** Resolves to the address when all processes listen. Rejects if one of them ends before. */
  readonly url: Promise<string>;
  private readonly supervisors: readonly Supervisor<HttpCalls>[];
  /** The processes that listen, with their address. */
  private readonly listening = new Map<HttpProcess, string>();
  private readonly metrics = new ProcessMetrics<HttpProcess>();
  private summing: Promise<MetricsText> | undefined;
  /** The port to open. `node:cluster` gives all processes the same one, also for 0. */
  private port: number;
  private onAllListen: (url: string) => void = () => {};

  constructor(private readonly options: Options) {
    this.port = options.runtime.config.PORT;
    cluster.setupPrimary({
      exec: MAIN_FILE,
      args: ['http'],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
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
    const worker = cluster.fork();
    const calls: MainCalls = {
      ready: this.ready,
      metrics: () => this.metricsText(),
      maintain,
      listening: (url) => {
        this.listening.set(child, url);
        if (this.listening.size === this.options.count) this.onAllListen(url);
      },
      damaged: onDamage,
      // A task that cannot be added counts as lost, and is added later.
      mediaTask: (task) => runtime.mediaTasks.add(task).catch(() => {}),
      committed: (commit) => connection?.receive(commit),
    };
    const options: HttpOptions = {
      config: { ...runtime.config, PORT: this.port },
      name: `http-${number}`,
      shares_commits: commits !== undefined,
    };
    const child: HttpProcess = new Child(worker.process, calls, options);
    const connection = commits?.connect((commit) => {
      // An HTTP process follows no other log.
      if (commit.file === 'documents' || commit.realm === 'control') child.tell('committed', commit);
    });
    passOnConnections(worker, () => [...this.listening.keys()].some(({ process }) => process.connected));
    void child.ended.then(() => {
      connection?.disconnect();
      this.forget(child);
    });
    return child;
  }

  private forget(child: HttpProcess): void {
    const url = this.listening.get(child);
    this.listening.delete(child);
    this.metrics.end(child);
    // With PORT=0, a process that starts beside others shares the port that they have. After the last one the port is
    // closed, and must be opened again by its number.
    if (url !== undefined && this.listening.size === 0) this.port = Number(new URL(url).port);
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
    await Promise.all([...this.listening.keys()].map(ask));
    return answers;
  }
}

/** The message with which `node:cluster` hands a connection to a process, and the reply. */
interface Internal {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Passes the connections on that a process was handed, but did not accept before it died. `node:cluster` waits for its
 * reply for ever, so such a client would get no answer and no end of its connection. The reply `accepted: false` makes it
 * choose another process, as it does if a process refuses while it stops. If no other process listens,
 * `node:cluster` would keep the connection for ever. The reply is then `accepted: true`, so that `node:cluster` closes
 * its copy of the connection.
 */
function passOnConnections(worker: Worker, doesAnotherListen: () => boolean): void {
  const { process } = worker;
  const waiting = new Set<number>();
  const send = process.send.bind(process) as (message: Internal, ...rest: unknown[]) => boolean;
  const sendAndNote = (message: Internal, ...rest: unknown[]): boolean => {
    if (message.act === 'newconn' && message.seq !== undefined) waiting.add(message.seq);
    return send(message, ...rest);
  };
  process.send = sendAndNote as typeof process.send;
  process.on('internalMessage', ({ ack }: Internal) => {
    if (ack !== undefined) waiting.delete(ack);
  });
  // `close` comes after the exit and the last reply. If the exit is noticed before the end of the channel, `node:cluster`
  // waits for `disconnect` before it forgets the process. Node never emits that while a connection is not acknowledged.
  process.once('close', () => {
    worker.disconnect();
    const accepted = !doesAnotherListen();
    for (const ack of waiting)
      process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted }, undefined);
  });
}
