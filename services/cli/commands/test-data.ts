import type { Command } from 'commander';
import type { AccountId } from '../../../shared/kernel/ids';
import { requireAccount } from '../../command/account';
import { CliError, EXIT, type ExitCode } from '../failure';
import { idArgument, verb } from '../options';
import { progressBar } from '../progress';
import { projectWritten } from '../projected';
import { stopSignal, withSession } from '../session';
import { fieldsTable } from '../table';
import { deleteTestData, findTestData } from '../test-data';

interface ResetOptions {
  readonly account: string;
  readonly yes?: true;
}

export function testDataCommands(program: Command): void {
  const testData = program.command('test-data').description('what the test environment holds');

  verb(testData, 'reset', "delete an account's test publications, listings and media, and nothing else")
    .requiredOption('--account <id>', 'whose', idArgument)
    .option('--yes', 'do it; without it, only says how much there is')
    .action(
      withSession<ResetOptions>(async ({ runtime, context, print }, options): Promise<ExitCode> => {
        const account = await requireAccount(runtime, options.account as AccountId);
        const found = await findTestData(runtime.events.test, account.id);
        const { publications, listings, media } = found;
        if (!options.yes)
          throw new CliError(
            `this deletes ${publications.length} test publications, ${listings.length} test listings and ` +
              `${media.length} test media of ${account.name}; add --yes to do it`,
            EXIT.usage,
          );
        const bar = progressBar('deleting');
        const total = publications.length + listings.length + media.length;
        const signal = stopSignal();
        const deleted = await deleteTestData(runtime, context, found, {
          on_progress: (done) => bar.show({ done, total }),
          signal,
        });
        bar.clear();
        await projectWritten(runtime, 'test');
        const document = { account_id: account.id, ...deleted };
        await print(document, () => fieldsTable(document));
        return signal.aborted ? EXIT.interrupted : EXIT.ok;
      }),
    );
}
