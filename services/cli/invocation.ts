import { randomUUID } from 'node:crypto';
import { type Command, CommanderError } from 'commander';
import { type Config, parseConfig } from '../../shared/kernel/config';
import { CatalogError } from '../../shared/kernel/errors';
import { createLogger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import { openRuntime, type Runtime } from '../boot/runtime';
import type { WriteContext } from '../command/execute';
import { describeRejection } from '../import/report';
import { type Cell, fieldsTable, printable } from './table';

export const EXIT = { ok: 0, failure: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure whose text is for the operator as it is. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exit_code: ExitCode;

  constructor(message: string, exit_code: ExitCode = EXIT.failure) {
    super(message);
    this.exit_code = exit_code;
  }
}

/** What one run of a command works with: the opened stores, and where its answer goes. */
export interface Invocation {
  readonly runtime: Runtime;
  readonly context: WriteContext;
  /** With `--json`, prints the document and nothing else; else the text. Called once, at the end. */
  print(document: unknown, text: () => string): Promise<void>;
  /** The same for a document of a few fields, which are the text, one a line. */
  printFields(fields: Readonly<Record<string, Cell>>): Promise<void>;
}

/** `operands` are the command's arguments in order, parsed. The exit code, where it is not 0. */
export type Handler<Options> = (
  invocation: Invocation,
  options: Options,
  operands: readonly string[],
) => Promise<ExitCode> | Promise<void>;

/** Returns a commander action that opens the stores, runs the handler and closes the stores, however it ends. */
export function withRuntime<Options>(handler: Handler<Options>) {
  return async function act(this: Command): Promise<void> {
    const options = this.optsWithGlobals<Options & { json?: boolean }>();
    const config = parseConfig(process.env);
    const runtime = await openRuntime(config, quietLog(config), realSystem);
    const print: Invocation['print'] = (document, text) => printAnswer(options.json === true, document, text);
    try {
      const exit_code = await handler(
        {
          runtime,
          context: { source: 'cli', request_id: randomUUID() },
          print,
          printFields: (fields) => print(fields, () => fieldsTable(fields)),
        },
        options,
        this.processedArgs as string[],
      );
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
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return controller.signal;
}

/** Returns the exit code of a failed run. Help and `--version` end commander by a throw as well. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  return error instanceof CliError ? error.exit_code : EXIT.failure;
}

/** Returns one line about a failure, never a stack; undefined where commander has said it already. */
export function lineOf(error: unknown): string | undefined {
  if (error instanceof CommanderError) return undefined;
  const text = error instanceof CatalogError ? describeRejection(error) : messageOf(error);
  return `catalog: ${printable(text.split('\n')[0]!)}`;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'it failed, and did not say why' : text;
}
