import Module from 'node:module';

/*
 * Preloaded into a process (`node --require`). The optional packages of OpenTelemetry cannot be found, as if they were
 * not installed.
 */
const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
const load = loader._load;

loader._load = function loadOrFail(this: unknown, request: string, ...rest: unknown[]) {
  if (request.startsWith('@opentelemetry/') && request !== '@opentelemetry/api')
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
  return load.call(this, request, ...rest);
};
