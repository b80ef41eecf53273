import { Command } from 'commander';
import { accountCommands } from './commands/account';
import { configCommand } from './commands/config';
import { importCommands } from './commands/import';
import { keyCommands } from './commands/key';
import { mediaCommands } from './commands/media';
import { paymentMethodCommands } from './commands/payment-method';
import { projectionCommands } from './commands/projections';
import { storeCommands } from './commands/store';
import { testDataCommands } from './commands/test-data';

/** `catalog <noun> <verb>`: every command, each in the file of its noun. */
export function buildProgram(): Command {
  const program = new Command('catalog')
    .description('Operate a catalog: accounts, stores, keys, imports and projections (docs/cli.md)')
    .option('--json', 'print one JSON document and nothing else')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(usageLine(text)) });
  accountCommands(program);
  storeCommands(program);
  keyCommands(program);
  paymentMethodCommands(program);
  importCommands(program);
  mediaCommands(program);
  projectionCommands(program);
  testDataCommands(program);
  configCommand(program);
  return program;
}

/** Commander's own texts come with a prefix and at times in two lines. */
function usageLine(text: string): string {
  const line = text
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
  return `catalog: ${line}\n`;
}
