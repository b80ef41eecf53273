import Module from 'node:module';

/* Preloaded into a process (`node --require`). Sends it SIGTERM while it loads its modules. */
const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
const load = loader._load;

loader._load = function loadAfterSignal(this: unknown, request: string, ...rest: unknown[]) {
  if (request === 'zod') {
    loader._load = load;
    process.kill(process.pid, 'SIGTERM');
  }
  return load.call(this, request, ...rest);
};
