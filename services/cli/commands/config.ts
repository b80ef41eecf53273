import type { Command } from 'commander';
import { describeConfig, parseConfig } from '../../../shared/kernel/config';
import { printAnswer } from '../invocation';
import { fieldsTable } from '../table';

export function configCommand(program: Command): void {
  program
    .command('config')
    .description('the configuration as parsed from the environment, without secrets')
    .option('--json', 'print one JSON document')
    .action(async function config(this: Command) {
      const described = describeConfig(parseConfig(process.env));
      const texts = Object.entries(described).map(([name, value]) => [name, textOf(value)] as const);
      const { json } = this.optsWithGlobals<{ json?: boolean }>();
      await printAnswer(json === true, described, () => fieldsTable(Object.fromEntries(texts)));
    });
}

/** As it would be written in the environment: `100/10000/150`. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === '') return null;
  if (typeof value === 'object' && value !== null) return Object.values(value).join('/');
  return String(value);
}
