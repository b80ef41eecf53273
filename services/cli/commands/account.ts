import type { Command } from 'commander';
import type { Account } from '../../../shared/catalog/account/account';
import type { AccountId } from '../../../shared/kernel/ids';
import { createAccount, reinstateAccount, suspendAccount } from '../../command/account';
import { withRuntime } from '../invocation';
import { idArgument, verb } from '../options';
import { projectBeforeRead, projectWritten, scanBodies } from '../projected';
import { recordsTable } from '../table';

export function accountCommands(program: Command): void {
  const account = program.command('account').description('merchants');

  verb(account, 'create', 'make an account')
    .requiredOption('--name <name>', 'what it is called')
    .action(
      withRuntime<{ name: string }>(async ({ runtime, context, printFields }, { name }) => {
        const { value } = await createAccount(runtime, context, { name });
        await projectWritten(runtime, 'control');
        await printFields(resourceOf(value));
      }),
    );

  verb(account, 'list', 'every account').action(
    withRuntime(async ({ runtime, print }) => {
      await projectBeforeRead(runtime, 'control');
      const accounts = await scanBodies(runtime, 'control', 'accounts');
      await print({ accounts }, () => recordsTable(['id', 'name', 'status', 'created_at'], accounts));
    }),
  );

  verb(account, 'suspend', 'refuse its keys from now on')
    .argument('<id>', 'the account', idArgument)
    .action(changeStatus(suspendAccount));
  verb(account, 'reinstate', 'let its keys work again')
    .argument('<id>', 'the account', idArgument)
    .action(changeStatus(reinstateAccount));
}

function changeStatus(change: typeof suspendAccount) {
  return withRuntime(async ({ runtime, context, printFields }, _options, [id]) => {
    const { value } = await change(runtime, context, id as AccountId);
    await projectWritten(runtime, 'control');
    await printFields(resourceOf(value));
  });
}

const resourceOf = ({ id, name, status, created_at }: Account) => ({ id, name, status, created_at });
