import { CommanderError } from 'commander';
import { CatalogError } from '../../shared/kernel/errors';
import { describeRejection } from '../import/report';
import { printable } from './table';

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

/** Help and `--version` end commander by a throw as well. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  return error instanceof CliError ? error.exit_code : EXIT.failure;
}

/** One line, never a stack; undefined where commander has said it already. */
export function lineOf(error: unknown): string | undefined {
  if (error instanceof CommanderError) return undefined;
  const text = error instanceof CatalogError ? describeRejection(error) : messageOf(error);
  return `catalog: ${printable(text.split('\n')[0]!)}`;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'it failed, and did not say why' : text;
}
