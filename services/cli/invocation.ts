import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { describeRejection } from '../../shared/api/error-catalogue';
import { type Config, parseConfig } from '../../shared/kernel/config';
import { CatalogError } from '../../shared/kernel/errors';
import { createLogger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import { hasCatalog } from '../boot/open-adapters';
import { openRuntime, type Runtime } from '../boot/runtime';
import type { WriteContext } from '../command/execute';
import { type Cell, fieldsTable, printable } from './table';

export const EXIT = { ok: 0, failure: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure whose message is printed to the operator unchanged. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exit_code: ExitCode;

  constructor(message: string, exit_code: ExitCode = EXIT.failure) {
    super(message);
    this.exit_code = exit_code;
  }
}

/** What a command handler receives: the opened stores, and the functions that print its result. */
export interface Invocation {
  readonly runtime: Runtime;
  readonly context: WriteContext;
  /**
   * Prints the document as JSON with `--json`, otherwise the text. A handler calls it once: when the result is certain, or
   * earlier for what must not be lost, such as a new key.
   */
  print(document: unknown, text: () => string): Promise<void>;
  /** Prints a flat document: as JSON with `--json`, otherwise one field per line. */
  printFields(fields: Readonly<Record<string, Cell>>): Promise<void>;
}

/** `operands` are the parsed arguments of the command, in order. Returns the exit code if it is not 0. */
export type Handler<Options> = (
  invocation: Invocation,
  options: Options,
  operands: readonly string[],
) => Promise<ExitCode> | Promise<void>;

/** For a command that creates a catalog if there is none in DATA_DIR. */
export const MAY_CREATE = { creates_catalog: true };

/**
 * Returns a commander action that opens the stores, runs the handler and closes the stores, even if it throws. Fails in a
 * folder without a catalog, unless it may create one: a wrong DATA_DIR must not look like an empty catalog.
 */
export function withRuntime<Options>(
  handler: Handler<Options>,
  { creates_catalog } = { creates_catalog: false },
) {
  return async function act(this: Command): Promise<void> {
    const options = this.optsWithGlobals<Options & { json?: boolean }>();
    const config = parseConfig(process.env);
    if (!creates_catalog && !hasCatalog(config))
      throw new CliError(
        `There is no catalog in ${resolve(config.DATA_DIR)}. Set DATA_DIR to the folder of the service, or create a ` +
          'catalog there with "npm start" or "catalog account create".',
      );
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

/** Prints a result: the document as JSON if `json` is true, otherwise the text. Positions become strings in JSON. */
export function printAnswer(json: boolean, document: unknown, text: () => string): Promise<void> {
  if (!json) return writeOut(text());
  const replace = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return writeOut(`${JSON.stringify(document, replace, 2)}\n`);
}

/** Writes a text to standard output. Resolves when the text is flushed, also to a slow pipe. */
export async function writeOut(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Creates a logger that is silent unless LOG_LEVEL is `debug` or `trace`: log lines would hide the result. */
function quietLog(config: Config) {
  const verbose = config.LOG_LEVEL === 'debug' || config.LOG_LEVEL === 'trace';
  return createLogger({ level: verbose ? config.LOG_LEVEL : 'silent', destination: 2 });
}

/**
 * Returns a signal that aborts on Ctrl-C or SIGTERM. The command then finishes the work in progress and reports it. A
 * second signal ends the process at once.
 */
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

/** Returns the exit code of a failed run. Commander also throws after it has printed help, which is a success. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  return error instanceof CliError ? error.exit_code : EXIT.failure;
}

/** Returns one line that describes a failure, without a stack. Returns undefined if commander has printed it already. */
export function lineOf(error: unknown): string | undefined {
  if (error instanceof CommanderError) return undefined;
  const text = error instanceof CatalogError ? describeRejection(error) : messageOf(error);
  return `catalog: ${printable(text.split('\n')[0]!)}`;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'Unknown error. Set LOG_LEVEL=debug and run the command again.' : text;
}
