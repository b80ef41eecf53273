import type { Command } from 'commander';
import { describeConfig, parseConfig } from '../../../shared/kernel/config';
import { printAnswer } from '../invocation';
import { subcommand } from '../options';
import { fieldsTable } from '../table';

export function configCommand(program: Command): void {
  subcommand(
    program,
    'config',
    'Show the configuration that the environment variables give, without secrets',
  ).action(async function config(this: Command) {
    const described = describeConfig(parseConfig(process.env));
    const texts = Object.entries(described).map(([name, value]) => [name, textOf(value)] as const);
    const { json } = this.optsWithGlobals<{ json?: boolean }>();
    await printAnswer(json === true, described, () => fieldsTable(Object.fromEntries(texts)));
  });
}

/** Formats a value the way it is written in the environment, such as `100/10000/150`. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === '') return null;
  if (typeof value === 'object' && value !== null) return Object.values(value).join('/');
  return String(value);
}
