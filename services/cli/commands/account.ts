import type { Command } from 'commander';
import type { Account } from '../../../shared/catalog/account/account';
import type { AccountId } from '../../../shared/kernel/ids';
import { scanBodies } from '../../../shared/ports/bodies';
import { createAccount, reinstateAccount, suspendAccount } from '../../command/account';
import { catchUpBeforeRead, waitForWrites } from '../catch-up';
import { runConfirmed } from '../confirm';
import { MAY_CREATE, withRuntime } from '../invocation';
import { idArgument, subcommand } from '../options';
import { recordsTable } from '../table';

export function accountCommands(program: Command): void {
  const account = program.command('account').description('Manage accounts (merchants)');

  subcommand(account, 'create', 'Create an account')
    .requiredOption('--name <name>', 'Name of the account')
    .action(
      withRuntime<{ name: string }>(async ({ runtime, context, printFields }, { name }) => {
        const { value } = await createAccount(runtime, context, { name });
        await waitForWrites(runtime, 'control');
        await printFields(resourceOf(value));
      }, MAY_CREATE),
    );

  subcommand(account, 'list', 'List all accounts').action(
    withRuntime(async ({ runtime, print }) => {
      await catchUpBeforeRead(runtime, 'control');
      const accounts = await scanBodies(runtime.views.control, 'accounts');
      await print({ accounts }, () => recordsTable(['id', 'name', 'status', 'created_at'], accounts));
    }),
  );

  subcommand(account, 'suspend', 'Suspend an account: the API refuses its keys and tokens')
    .argument('<id>', 'ID of the account', idArgument('account'))
    .action(changeStatus('suspension', suspendAccount));
  subcommand(account, 'reinstate', 'Reinstate a suspended account: its keys work again')
    .argument('<id>', 'ID of the account', idArgument('account'))
    .action(changeStatus('reinstatement', reinstateAccount));
}

function changeStatus(noun: string, change: typeof suspendAccount) {
  return withRuntime(async ({ runtime, context, printFields }, _options, [id]) => {
    const run = () => change(runtime, context, id as AccountId);
    const { value } = await runConfirmed(runtime, { noun, collection: 'accounts', run });
    await printFields(resourceOf(value));
  });
}

const resourceOf = ({ id, name, status, created_at }: Account) => ({ id, name, status, created_at });
