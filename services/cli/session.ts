import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { type Config, parseConfig } from '../../shared/kernel/config';
import { createLogger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import { openRuntime, type Runtime } from '../boot/runtime';
import type { WriteContext } from '../command/execute';
import type { ExitCode } from './failure';

/** What a command works with: the opened stores, and where its answer goes. */
export interface Session {
  readonly runtime: Runtime;
  readonly context: WriteContext;
  /** With `--json`, the document and nothing else; else the text. Called once, at the end. */
  print(document: unknown, text: () => string): Promise<void>;
}

/** `operands` are the command's arguments in order, parsed. The exit code, where it is not 0. */
export type Handler<Options> = (
  session: Session,
  options: Options,
  operands: readonly string[],
) => Promise<ExitCode> | Promise<void>;

/** A commander action that opens the stores, runs the handler and closes the stores, however it ends. */
export function withSession<Options>(handler: Handler<Options>) {
  return async function act(this: Command): Promise<void> {
    const options = this.optsWithGlobals<Options & { json?: boolean }>();
    const config = parseConfig(process.env);
    const runtime = await openRuntime(config, quietLog(config), realSystem);
    try {
      const session: Session = {
        runtime,
        context: { source: 'cli', request_id: randomUUID() },
        print: (document, text) => printAnswer(options.json === true, document, text),
      };
      const exit_code = await handler(session, options, this.processedArgs as string[]);
      if (exit_code) process.exitCode = exit_code;
    } finally {
      await runtime.close();
    }
  };
}

/** Resolves when it is written, also into a pipe that takes its time. Positions become decimal texts. */
export async function printAnswer(json: boolean, document: unknown, text: () => string): Promise<void> {
  const output = json
    ? `${JSON.stringify(document, (_, value) => (typeof value === 'bigint' ? String(value) : value), 2)}\n`
    : text();
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(output, (error) => (error ? reject(error) : resolve()));
  });
}

/** What the stores and the projections have to say is for who looks for a fault. */
function quietLog(config: Config) {
  const wanted = config.LOG_LEVEL === 'debug' || config.LOG_LEVEL === 'trace';
  return createLogger({ level: wanted ? config.LOG_LEVEL : 'silent', destination: 2 });
}

/** Aborted by Ctrl-C or SIGTERM: what runs is finished and told. A second one ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return controller.signal;
}
