import './node-version';
import './compile-cache';
import '../../shared/kernel/stack-traces';
import { startWalCheckpoints } from '../../shared/adapters/sqlite/wal-checkpoints';
import { createLogger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import { readTraceConfiguration } from '../tracing/settings';
import { startTracing } from '../tracing/start';
import type { Tracing } from '../tracing/tracing';
import { ProcessCommits } from './commit-relay';
import { filesWrittenByRequests } from './open-adapters';
import { type DamageReports, logDamage, openPipelineRuntime } from './pipeline-runtime';
import { startPipelines } from './pipelines';
import type { FromProjections, ToProjections } from './projection-messages';

/*
 * Main file of the projection process, which the all-in-one service starts (`projection-process.ts`). It does what would
 * hold up requests: it runs the pipelines of all realms, and copies the write-ahead logs of the service into their files.
 */

/** How often the process looks whether the state of a pipeline has changed. */
const REPORT_EVERY_MS = 250;

/** Ignores a closed channel: the service has ended, and `disconnect` follows. */
const send = (message: FromProjections): void => void process.send?.(message, undefined, undefined, () => {});

const commits = new ProcessCommits(send);
type Handler<Type> = (message: Extract<ToProjections, { readonly type: Type }>) => Promise<void>;
let stop = async (): Promise<void> => {};
let answerCaughtUp: Handler<'caught_up'> = async () => {};

const start: Handler<'start'> = async ({ config, has_traces }) => {
  let tracing: Tracing | undefined;
  const fields = has_traces && { fields: () => tracing?.logFields() ?? {} };
  const log = createLogger({ level: config.LOG_LEVEL, destination: 2, ...fields }).child({
    service: 'catalog',
    process: 'projections',
  });
  if (has_traces) tracing = startTracing(readTraceConfiguration(process.env), 'catalog', config, log);
  // The service logs each damaged file once, also if both processes notice it.
  const damage: DamageReports = {
    ...logDamage(log),
    onDamage: ({ file, message }) => send({ type: 'damaged', file, message }),
  };
  const options = { tracing, damage, commits: commits.notifiers };
  const runtime = await openPipelineRuntime(config, log, realSystem, options);
  const pipelines = startPipelines(runtime);
  const stopCheckpoints = startWalCheckpoints(filesWrittenByRequests(config), log);
  let reported: string | undefined;
  const report = async (): Promise<void> => {
    const reports = await pipelines.reports().catch(() => undefined);
    if (reports === undefined) return;
    const text = JSON.stringify(reports);
    if (text !== reported) send({ type: 'pipelines', pipelines: reports });
    reported = text;
  };
  const reporting = setInterval(() => void report(), REPORT_EVERY_MS);
  answerCaughtUp = async ({ call, timeout_ms }) => {
    const caught_up = await pipelines.caughtUp(timeout_ms);
    await report();
    send({ type: 'caught_up', call, caught_up });
  };
  stop = async () => {
    clearInterval(reporting);
    stopCheckpoints();
    await pipelines.stop();
    await runtime.close();
    await tracing?.stop();
  };
};

let started: Promise<void> | undefined;

async function handle(message: ToProjections): Promise<void> {
  switch (message.type) {
    case 'start':
      started = start(message);
      return started;
    case 'caught_up':
      await started;
      return answerCaughtUp(message);
    case 'committed':
      commits.receive(message);
      return;
    case 'stop':
      await started;
      await stop();
      process.exit(0);
  }
}

if (!process.connected) {
  process.stderr.write('The service starts this program itself. Run "npm start" instead.\n');
  process.exit(1);
}
// A terminal and some supervisors send signals to all processes of the service. The service then stops this process.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
// The service has ended without stopping this process. Ending at once is a crash that loses nothing.
process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToProjections) => void handle(message));
