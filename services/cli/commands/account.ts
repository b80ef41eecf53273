import type { Command } from 'commander';
import type { Account } from '../../../shared/catalog/account/account';
import type { AccountId } from '../../../shared/kernel/ids';
import { createAccount, reinstateAccount, suspendAccount } from '../../command/account';
import type { Written } from '../../command/execute';
import { idArgument, verb } from '../options';
import { projectBeforeRead, projectWritten } from '../projected';
import { scanBodies } from '../scan';
import { type Session, withSession } from '../session';
import { fieldsTable, table } from '../table';

export function accountCommands(program: Command): void {
  const account = program.command('account').description('merchants');

  verb(account, 'create', 'make an account')
    .requiredOption('--name <name>', 'what it is called')
    .action(
      withSession<{ name: string }>(async ({ runtime, context, print }, { name }) => {
        const { value } = await createAccount(runtime, context, { name });
        await projectWritten(runtime, 'control');
        await print(resourceOf(value), () => fieldsTable(resourceOf(value)));
      }),
    );

  verb(account, 'list', 'every account').action(
    withSession(async ({ runtime, print }) => {
      await projectBeforeRead(runtime, 'control');
      const accounts = (await scanBodies(runtime, 'control', 'accounts')).map(({ body }) => body);
      await print({ accounts }, () =>
        table(
          ['id', 'name', 'status', 'created_at'].map((title) => ({ title })),
          accounts.map(({ id, name, status, created_at }) => [id, name, status, created_at].map(String)),
        ),
      );
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
  return withSession(async ({ runtime, context, print }: Session, _options, [id]) => {
    const written: Written<Account> = await change(runtime, context, id as AccountId);
    await projectWritten(runtime, 'control');
    await print(resourceOf(written.value), () => fieldsTable(resourceOf(written.value)));
  });
}

const resourceOf = ({ id, name, status, created_at }: Account) => ({ id, name, status, created_at });
