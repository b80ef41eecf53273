#!/usr/bin/env node
import './node-version';
import './preload';
import { setFlagsFromString } from 'node:v8';

/*
 * Main file of every process of the service. The first argument is its role, `all` by default. A role loads its modules
 * only when it runs, so that a process has no others in memory.
 */

/** The roles that an operator starts. */
const SERVERS: Readonly<Record<string, () => unknown>> = {
  all: () => (require('./all-in-one') as typeof import('./all-in-one')).runAll(),
  command: () => (require('./servers') as typeof import('./servers')).runHttpRole('command'),
  query: () => (require('./servers') as typeof import('./servers')).runHttpRole('query'),
  worker: () => (require('./servers') as typeof import('./servers')).runWorker(),
};

/** The roles that other processes of the service start (`shared/kernel/processes.ts`). */
const CHILDREN: Readonly<Record<string, () => unknown>> = {
  http: () => (require('./http-service') as typeof import('./http-service')).runHttp(),
  projections: () =>
    (require('./projection-process') as typeof import('./projection-process')).runProjections(),
  maintenance: () =>
    (require('./maintenance-process') as typeof import('./maintenance-process')).runMaintenance(),
  render: () => (require('../media/render-role') as typeof import('../media/render-role')).runRender(),
};

/**
 * Has V8 collect the garbage of old objects each time the heap has grown by half. By default, the heap may double or more
 * before that, and a process with a full edge cache would use 100 MB more. With a fifth, it would use 17 MB less, but
 * marking the heap would take up to a third of the CPU time of reads that the edge cache does not answer.
 */
function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=50');
}

const role = process.argv[2] ?? 'all';
const run = SERVERS[role] ?? CHILDREN[role];
if (!run) {
  process.stderr.write(`Unknown role ${role}. Roles: ${Object.keys(SERVERS).join(', ')}.\n`);
  process.exit(1);
}
// Loading the modules takes a quarter of a second. Without a handler, the first process of a container ignores a stop
// signal meanwhile, and is killed after its grace period. `runProcess` replaces the handler by a graceful stop.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
if (['all', 'query', 'http'].includes(role)) keepHeapSmall();
void run();
