import { Command, Help } from 'commander';
import { VERSION } from '../../shared/kernel/version';
import { accountCommands } from './commands/account';
import { backupCommands } from './commands/backup';
import { changesCommands, historyCommand } from './commands/changes';
import { completionCommands } from './commands/completion';
import { configCommand } from './commands/config';
import { demoCommands } from './commands/demo';
import { docsCommand } from './commands/docs';
import { eventCommands } from './commands/events';
import { exportCommands } from './commands/export';
import { feedsCommands } from './commands/feeds';
import { importCommands } from './commands/import';
import { keyCommands } from './commands/key';
import { mediaCommands } from './commands/media';
import { paymentMethodCommands } from './commands/payment-method';
import { projectionCommands } from './commands/projections';
import { purgeCommand } from './commands/purge';
import { storeCommands } from './commands/store';
import { testDataCommands } from './commands/test-data';
import { upgradeCommand } from './commands/upgrade';

/** Builds the command line, `catalog <noun> <verb>`. Each file in `commands/` adds one noun. */
export function buildProgram(): Command {
  const program = new Command('catalog')
    .description(
      'Manage the accounts, stores, API keys, imports and projections of a catalog. See docs/cli.md.',
    )
    .option('--json', 'Print the result as one JSON document')
    .version(VERSION, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .configureHelp({ optionDescription: describeOption })
    .exitOverride();
  accountCommands(program);
  storeCommands(program);
  keyCommands(program);
  paymentMethodCommands(program);
  importCommands(program);
  exportCommands(program);
  feedsCommands(program);
  changesCommands(program);
  historyCommand(program);
  mediaCommands(program);
  projectionCommands(program);
  eventCommands(program);
  backupCommands(program);
  purgeCommand(program);
  testDataCommands(program);
  demoCommands(program);
  configCommand(program);
  docsCommand(program);
  upgradeCommand(program);
  completionCommands(program);
  rewordErrors(program);
  return program;
}

/** Marks required options in the help. */
function describeOption(this: Help, ...[option]: Parameters<Help['optionDescription']>): string {
  const description = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${description} (required)` : description;
}

/** Makes commander's errors, of the command and of all commands below it, one line that ends with where the help is. */
function rewordErrors(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      const reason = text
        .replace(/^error: /, '')
        .replace(/\s*\n\s*/g, ' ')
        .replace(/[\s.]*$/, '.');
      const message = reason.charAt(0).toUpperCase() + reason.slice(1);
      write(`catalog: ${message} Run "${pathOf(command)} --help" for usage.\n`);
    },
  });
  for (const each of command.commands) rewordErrors(each);
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
