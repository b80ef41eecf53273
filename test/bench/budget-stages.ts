import type { CpuProfile } from './flame-graph';

/** A function on a sampled stack. `file`: `node:…`, or the path below `dist` or `node_modules`; empty for native code. */
export interface StackFrame {
  readonly name: string;
  readonly file: string;
}

interface Rule {
  readonly stage: string;
  /** Beginnings of files, or names in parentheses of what V8 does outside of functions. */
  readonly of: readonly string[];
}

/**
 * The stages of a read, in the order of the table. A sample belongs to the stage of the innermost function that a rule
 * names. So SQLite called by the limiter counts as SQLite, and Node's timers called by the log as the log line.
 */
export const STAGES: readonly Rule[] = [
  {
    stage: 'socket write',
    of: ['node:internal/stream_base_commons', 'node:net', 'node:internal/streams/writable'],
  },
  { stage: 'garbage collection', of: ['(garbage collector)'] },
  {
    stage: 'event loop, timers, promises',
    of: ['(program)', 'node:internal/process/task_queues', 'node:internal/timers'],
  },
  { stage: 'HTTP parser and response of Node', of: ['node:_http', 'node:internal/streams/'] },
  { stage: 'log line', of: ['shared/kernel/log', 'node_modules/pino/', 'node_modules/sonic-boom/'] },
  {
    stage: 'limiter',
    of: ['shared/http/rate-limit', 'shared/adapters/token-bucket', 'shared/adapters/in-process/rate-limiter'],
  },
  { stage: 'token and key', of: ['shared/http/auth', 'shared/http/token', 'services/auth/'] },
  { stage: 'edge cache', of: ['services/edge/'] },
  { stage: 'freshness headers', of: ['services/metrics/freshness'] },
  { stage: 'metrics', of: ['services/metrics/', 'node_modules/prom-client/', 'shared/http/metrics'] },
  { stage: 'page views', of: ['services/query/page-view-counter'] },
  { stage: 'SQLite', of: ['shared/adapters/sqlite/', 'node_modules/libsql/'] },
  { stage: 'reading and presentation', of: ['services/query/'] },
  { stage: 'encoding', of: ['shared/http/respond'] },
  { stage: 'request id, route, headers', of: ['shared/http/', 'services/boot/'] },
];
export const OTHER = 'other';

/** Returns the stage of a stack, whose first frame is the innermost. Undefined if the thread was idle. */
export function stageOf(stack: readonly StackFrame[]): string | undefined {
  if (stack[0]?.name === '(idle)') return undefined;
  for (const { name, file } of stack)
    for (const { stage, of } of STAGES)
      if (of.some((begin) => (file || name).startsWith(begin))) return stage;
  return OTHER;
}

/** Returns the share of each stage in the time between two moments of a profile in which the thread worked. */
export function stagesOf(profile: CpuProfile, from_us: number, to_us: number): Map<string, number> {
  const stacks = stacksOf(profile);
  const us_of = new Map([...STAGES.map(({ stage }) => stage), OTHER].map((stage) => [stage, 0]));
  let [at_us, all_us] = [profile.startTime, 0];
  profile.samples.forEach((sample, index) => {
    const us = profile.timeDeltas[index]!;
    at_us += us;
    const stage = at_us >= from_us && at_us <= to_us ? stageOf(stacks.get(sample)!) : undefined;
    if (stage === undefined) return;
    all_us += us;
    us_of.set(stage, us_of.get(stage)! + us);
  });
  return new Map([...us_of].map(([stage, us]) => [stage, us / all_us]));
}

/** Returns the stack of each node of the profile. */
function stacksOf({ nodes }: CpuProfile): Map<number, StackFrame[]> {
  const parentOf = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node])));
  return new Map(
    nodes.map((node) => {
      const stack: StackFrame[] = [];
      for (let at: typeof node | undefined = node; at; at = parentOf.get(at.id))
        stack.push({ name: at.callFrame.functionName, file: fileOf(at.callFrame.url) });
      return [node.id, stack];
    }),
  );
}

function fileOf(url: string): string {
  const [, package_file] = /.*\/(node_modules\/.*)$/.exec(url) ?? [];
  return package_file ?? url.replace(/^.*\/dist\//, '');
}
