import type { Command } from 'commander';
import type { AnyId } from '../../../shared/kernel/ids';
import { findPurgeTarget, purge } from '../../command/purge';
import { catchUpBeforeRead } from '../catch-up';
import { CliError, EXIT, withRuntime } from '../invocation';
import { idArgument, subcommand } from '../options';

export function purgeCommand(program: Command): void {
  subcommand(program, 'purge', 'Erase a deleted publication, listing, review or media from the log, for good')
    .argument('<id>', 'ID of the resource', idArgument('resource'))
    .option('--yes', 'Confirm it; without it the command erases nothing')
    .action(
      withRuntime<{ yes?: true }>(async ({ runtime, context, printFields }, { yes }, [id]) => {
        const target = await findPurgeTarget(runtime, id as AnyId);
        if (!target) throw new CliError(`No publication, listing, review or media has the id ${id}.`);
        const { environment, aggregate, state } = target;
        const { category } = aggregate;
        if (state.tag === 'present')
          throw new CliError(
            `The ${category} ${id} is not deleted. Delete it first, with the API or in the console.`,
          );
        if (!yes)
          throw new CliError(
            `This erases the ${category} ${id} of the ${environment} environment. It cannot be restored or undone then. ` +
              'Add --yes to confirm.',
            EXIT.usage,
          );
        const erased_events = await purge(runtime, context, target);
        await catchUpBeforeRead(runtime, environment);
        await printFields({ id, category, environment, erased_events });
      }),
    );
}
