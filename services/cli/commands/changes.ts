import type { Command } from 'commander';
import { OFFSET } from '../../../shared/catalog/changes';
import { type Entry, Feed, markOf, POLL_MS } from '../../query/changes';
import { CliError, EXIT, printAnswer, stopSignal, withRuntime } from '../invocation';
import { storeOption } from '../options';
import { printable } from '../table';
import { requireStore } from './store';

interface ChangesOptions {
  readonly store: string;
  readonly after: string;
  readonly follow?: true;
  readonly json?: true;
}

export function changesCommands(program: Command): void {
  program
    .command('changes')
    .description(
      'Print the changes of a store, oldest first: who changed what, with the values before and after',
    )
    .addOption(storeOption('ID of the store'))
    .option('--after <offset>', 'Only changes after the one with this id', '-1')
    .option('--follow', 'Wait for further changes until Ctrl-C')
    .option('--json', 'Print each change as one line of JSON')
    .action(
      withRuntime<ChangesOptions>(async ({ runtime }, { store, after, follow, json }): Promise<void> => {
        if (!OFFSET.test(after))
          throw new CliError(`Invalid --after "${after}": expected the id of a change, or now.`, EXIT.usage);
        const { id: store_id, environment } = await requireStore(runtime, store);
        const events = runtime.events[environment];
        const filter = { store_id, type: [], resource: [], fields: [] };
        const feed = new Feed({ control_view: runtime.views.control }, events, filter);
        const signal = stopSignal();
        let mark = await markOf(events, after);
        for (let wait_ms = 0; !signal.aborted; ) {
          const { entries, next, is_up_to_date } = await feed.read(mark, wait_ms);
          for (const entry of entries)
            await printAnswer(false, undefined, () => `${json ? JSON.stringify(entry) : summaryOf(entry)}\n`);
          if (is_up_to_date && !follow) return;
          wait_ms = is_up_to_date ? POLL_MS : 0;
          mark = next;
        }
      }),
    );
}

/** Returns a line for the change, and an indented one for each changed field. */
function summaryOf({ id, type, resource_id, occurred_at, actor, changed }: Entry): string {
  const who = actor.name ?? actor.id ?? actor.type;
  const fields = Object.entries(changed).map(
    ([name, { before, after }]) => `  ${name}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  );
  return [`${occurred_at}  ${type}  ${resource_id}  by ${who}  ${id}`, ...fields].map(printable).join('\n');
}
