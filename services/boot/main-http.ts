import './node-version';
import './compile-cache';
import './small-heap';
import '../../shared/kernel/stack-traces';
import cluster from 'node:cluster';
import { ConfigError } from '../../shared/kernel/config';
import { CatalogError } from '../../shared/kernel/errors';
import { createLogger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import type { MediaTaskQueue } from '../../shared/ports/media-tasks';
import { readTraceConfiguration } from '../tracing/settings';
import { startTracing } from '../tracing/start';
import type { Tracing } from '../tracing/tracing';
import { ProcessCommits } from './commit-relay';
import { answerTo, type FromHttp, type Question, Questions, type ToHttp } from './http-messages';
import { startHttpService } from './http-service';
import type { Operations } from './operations';
import { type DamageReports, logDamage } from './pipeline-runtime';
import { readiness, WRITES } from './readiness';
import { openRuntime } from './runtime';
import { describeStartError } from './start-error';

/*
 * Main file of the HTTP processes, which the all-in-one service starts if WORKERS is more than 1 (`http-processes.ts`).
 * They serve all requests. The main process does the rest.
 */

/** How long a request waits for the main process, which asks all HTTP processes. */
const SERVICE_TIMEOUT_MS = 6_000;

/** Ignores a closed channel: the service has ended, and `disconnect` follows. */
const send = (message: FromHttp): void => void process.send?.(message, undefined, undefined, () => {});

const questions = new Questions(send);
const commits = new ProcessCommits(send);
let answerQuestion = async (_question: Question): Promise<void> => {};
let stop = async (): Promise<void> => {};

/** Passes the tasks to the main process, which renders. A lost one is added again when it is missed. */
const forwarded_tasks: MediaTaskQueue = {
  add: async (task) => send({ type: 'media_task', task }),
  work: () => Promise.reject(new Error('an HTTP process does not render')),
  close: async () => {},
};

/** Answers for the whole service. */
const operations: Operations = {
  ready: async () =>
    (await questions.ask('ready', SERVICE_TIMEOUT_MS)) ?? {
      ok: false,
      details: { waiting_for: ['main_process'], outages: {} },
    },
  metrics_text: async () => {
    const text = await questions.ask('metrics', SERVICE_TIMEOUT_MS);
    if (!text) throw new CatalogError('unavailable', { message: 'the main process does not answer' });
    return text;
  },
};

async function start({
  config,
  number,
  has_traces,
  shares_commits,
}: Extract<ToHttp, { type: 'start' }>): Promise<void> {
  let tracing: Tracing | undefined;
  const fields = has_traces && { fields: () => tracing?.logFields() ?? {} };
  const log = createLogger({ level: config.LOG_LEVEL, destination: 2, ...fields }).child({
    service: 'catalog',
    process: `http-${number}`,
  });
  if (has_traces) tracing = startTracing(readTraceConfiguration(process.env), 'catalog', config, log);
  // The main process logs each damaged file once, also if several processes notice it.
  const damage: DamageReports = {
    ...logDamage(log),
    onDamage: ({ file, message }) => send({ type: 'damaged', file, message }),
  };
  const runtime = await openRuntime(config, log, realSystem, {
    tracing,
    damage,
    ...(shares_commits && { commits: commits.notifiers }),
    ...(config.REDIS_URL === undefined && { media_tasks: forwarded_tasks }),
  });
  runtime.metrics.collectProcessMetrics();
  const ready = readiness(runtime, WRITES);
  const answers = {
    own_life: async () => true as const,
    own_ready: ready,
    own_metrics: () => runtime.metrics.snapshot(),
  };
  answerQuestion = async (question) =>
    send(await answerTo(question, answers[question.name as keyof typeof answers]()));
  const http = await startHttpService(runtime, operations);
  stop = async () => {
    await http.close();
    await runtime.close();
    await tracing?.stop();
  };
  send({ type: 'listening', url: http.url });
}

/** Tells the main process why this one cannot start. */
function fail(error: unknown): void {
  const is_configuration = error instanceof ConfigError;
  const message = is_configuration ? error.message : describeStartError(error);
  process.send?.({ type: 'failed', message, is_configuration } satisfies FromHttp, () => process.exit(1));
}

let started: Promise<void> | undefined;

async function handle(message: ToHttp): Promise<void> {
  switch (message.type) {
    case 'start':
      started = start(message).catch(fail);
      return started;
    case 'committed':
      commits.receive(message);
      return;
    case 'question':
      return answerQuestion(message);
    case 'answer':
      questions.receive(message);
      return;
    case 'stop':
      await started;
      await stop();
      process.exit(0);
  }
}

if (!cluster.isWorker) {
  process.stderr.write('The service starts this program itself. Run "npm start" instead.\n');
  process.exit(1);
}
// A terminal and some supervisors send signals to all processes of the service. The service then stops this process.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
// The service has ended without stopping this process.
process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToHttp) => void handle(message));
