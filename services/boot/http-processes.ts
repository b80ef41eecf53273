import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { join } from 'node:path';
import type { MetricsText } from '../../shared/http/metrics';
import type { ReadyCheck } from '../../shared/http/operational';
import { type Config, ConfigError } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { ProcessMetrics } from '../metrics/process-metrics';
import type { Background } from './background';
import { endOf, keepRunning } from './child-process';
import type { Committed } from './commit-relay';
import { type Answers, answerTo, type FromHttp, Questions, type ToHttp } from './http-messages';
import { passOnConnections } from './pass-on-connections';
import { worstOf } from './readiness';

/**
 * An HTTP process that takes longer to report its state is left out of that of the service. Its checks end after 4 s: two
 * in a row, of 2 s each. One that does not answer at all, for example because it is frozen, is left out after 1 s.
 */
const REPORT_TIMEOUT_MS = 5_000;
const LIFE_TIMEOUT_MS = 1_000;
/** How long a sum of metrics is kept, because it takes 12 to 40 ms of the main process. */
const SUM_KEPT_MS = 1_000;

interface Options {
  readonly config: Config;
  readonly count: number;
  readonly log: Logger;
  readonly has_traces: boolean;
  /** The processes open the stores only after this one has: it may have to create or repair the files. */
  readonly background: Promise<Background>;
}

/**
 * Serves requests in `count` processes that share one port: `node:cluster` accepts connections in this process and hands
 * them to the others in turn. If one crashes, it is started again, and requests on the others continue. All end with this
 * process, also if it is killed. See `docs/decisions/0029-http-processes.md`.
 *
 * They start in the constructor, so that their modules load while this process opens the stores.
 */
export class HttpProcesses {
  /** Resolves to the address when all processes listen. Rejects if one of them ends before. */
  readonly url: Promise<string>;
  private readonly options: Options;
  private readonly stopping = new AbortController();
  private readonly stopped = once(this.stopping.signal, 'abort').then(() => undefined);
  private readonly ended: Promise<unknown>;
  /** Never settles if the background cannot start: its error ends the service, which stops this. */
  private readonly background: Promise<Background>;
  /** The processes that listen, with their address. */
  private readonly listening = new Map<HttpProcess, string>();
  private readonly metrics = new ProcessMetrics<HttpProcess>();
  private summing: Promise<MetricsText> | undefined;
  /** The port to open. `node:cluster` gives all processes the same one, also for 0. */
  private port: number;
  private has_started = false;
  private onStarted: (url: string) => void = () => {};
  private onFailure: (error: Error) => void = () => {};

  constructor(options: Options) {
    const { config, count } = options;
    this.options = options;
    this.port = config.PORT;
    this.background = options.background.catch(() => new Promise<never>(() => {}));
    this.url = new Promise((resolve, reject) => {
      this.onStarted = resolve;
      this.onFailure = reject;
    });
    // Without a listener, Node would end this process if `start` is not awaited yet when a process fails.
    this.url.catch(() => {});
    cluster.setupPrimary({
      exec: join(__dirname, 'main-http.js'),
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    this.ended = Promise.all(numbers.map((number) => this.run(number)));
  }

  /** Accepts no new requests, finishes the running ones, and appends the counted views. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }

  private run(number: number): Promise<void> {
    const { signal } = this.stopping;
    return keepRunning(
      () => this.runOnce(number),
      signal,
      (crash) => this.options.log.error({ number, ...crash }, 'an HTTP process has crashed; restarting it'),
    );
  }

  /**
   * Runs a process until it ends. Returns how it ended. It may end, or the service may stop, while the background still
   * starts. If it ends before all processes have listened, the service cannot start, so all others stop, too.
   */
  private async runOnce(number: number): Promise<string> {
    const { signal } = this.stopping;
    const child = new HttpProcess(cluster.fork(), () => this.doesAnyListen());
    const background = await Promise.race([this.background, child.ended, this.stopped]);
    if (typeof background === 'object' && !signal.aborted) this.connect(child, number, background);
    await Promise.race([child.ended, this.stopped]);
    if (signal.aborted) child.send({ type: 'stop' });
    const reason = await child.ended;
    this.forget(child);
    if (!this.has_started) {
      this.stopping.abort();
      this.onFailure(child.failure ?? new Error(`an HTTP process has ended: ${reason}`));
    }
    return child.failure?.message ?? reason;
  }

  /** `node:cluster` closes the port when the last channel closes, which may be before it notices that a process has ended. */
  private doesAnyListen(): boolean {
    return [...this.listening.keys()].some((child) => child.is_connected);
  }

  private connect(child: HttpProcess, number: number, background: Background): void {
    const { config, has_traces } = this.options;
    const { commits } = background;
    const onCommit = ({ type, realm, file }: Committed): void => {
      // An HTTP process follows no other log.
      if (file === 'documents' || realm === 'control') child.send({ type, realm, file });
    };
    const publish = commits?.connect(onCommit);
    void child.ended.then(() => commits?.disconnect(onCommit));
    child.onMessage((message) => {
      if (message.type === 'committed') publish?.(message);
      else this.receive(child, background, message);
    });
    child.send({
      ...{ type: 'start', number, has_traces, shares_commits: commits !== undefined },
      config: { ...config, PORT: this.port },
    });
  }

  private receive(child: HttpProcess, background: Background, message: Exclude<FromHttp, Committed>): void {
    switch (message.type) {
      case 'listening':
        this.listening.set(child, message.url);
        if (this.listening.size < this.options.count) break;
        this.has_started = true;
        this.onStarted(message.url);
        break;
      case 'failed':
        child.failure = new (message.is_configuration ? ConfigError : Error)(message.message);
        break;
      case 'damaged':
        background.damage.onDamage(message);
        break;
      case 'media_task':
        // A task that cannot be added counts as lost, and is added later.
        background.runtime.mediaTasks.add(message.task).catch(() => {});
        break;
      case 'question': {
        const answer = message.name === 'ready' ? this.ready() : this.metricsText(background);
        void answerTo(message, answer).then((reply) => child.send(reply));
        break;
      }
      case 'answer':
        child.questions.receive(message);
        break;
    }
  }

  private forget(child: HttpProcess): void {
    const url = this.listening.get(child);
    this.listening.delete(child);
    this.metrics.end(child);
    // With PORT=0, a process that starts beside others shares the port that they have. After the last one the port is
    // closed, and must be opened again by its number.
    if (url !== undefined && this.listening.size === 0) this.port = Number(new URL(url).port);
  }

  /** The readiness of the whole service. */
  readonly ready: ReadyCheck = async () => {
    const { ready } = await this.background;
    const [main, answers] = await Promise.all([ready(), this.askAll('own_ready')]);
    const { ok, details } = worstOf(main, [...answers.values()]);
    const http_processes = { expected: this.options.count, answering: answers.size };
    return { ok, details: { ...details, http_processes } };
  };

  /** Scrapes within a second share one sum. An older one that arrives later would let counters fall. */
  private metricsText(background: Background): Promise<MetricsText> {
    this.summing ??= this.sumOfMetrics(background).finally(() => {
      setTimeout(() => {
        this.summing = undefined;
      }, SUM_KEPT_MS).unref();
    });
    return this.summing;
  }

  private async sumOfMetrics({ runtime }: Background): Promise<MetricsText> {
    const [own, answers] = await Promise.all([runtime.metrics.snapshot(), this.askAll('own_metrics')]);
    for (const child of answers.keys()) if (!this.listening.has(child)) answers.delete(child);
    return this.metrics.sum(own, answers);
  }

  /** Returns the answers of the processes that listen. One that takes too long is missing. */
  private async askAll<Name extends 'own_ready' | 'own_metrics'>(
    name: Name,
  ): Promise<Map<HttpProcess, Answers[Name]>> {
    const answers = new Map<HttpProcess, Answers[Name]>();
    const ask = async (child: HttpProcess): Promise<void> => {
      if (!(await child.questions.ask('own_life', LIFE_TIMEOUT_MS))) return;
      const answer = await child.questions.ask(name, REPORT_TIMEOUT_MS);
      if (answer !== undefined) answers.set(child, answer);
    };
    await Promise.all([...this.listening.keys()].map(ask));
    return answers;
  }
}

/** One run of an HTTP process. */
class HttpProcess {
  /** Resolves when the process has ended or could not be started, with the reason. */
  readonly ended: Promise<string>;
  readonly questions = new Questions((question) => this.send(question));
  /** Why it could not start, if it says so. */
  failure: Error | undefined;

  constructor(
    private readonly worker: Worker,
    doesAnotherListen: () => boolean,
  ) {
    // Without a listener, an error would end the service.
    worker.on('error', () => {});
    this.ended = endOf(worker.process);
    // Not a race with `ended` for each question, which would keep every answer in memory until the process ends.
    void this.ended.then(() => this.questions.close());
    passOnConnections(worker, doesAnotherListen);
  }

  onMessage(receive: (message: FromHttp) => void): void {
    this.worker.on('message', receive);
  }

  get is_connected(): boolean {
    return this.worker.process.connected;
  }

  /** Ignores a process that has ended. */
  send(message: ToHttp): void {
    if (this.is_connected) this.worker.process.send(message, () => {});
  }
}
