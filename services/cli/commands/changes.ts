import type { Command } from 'commander';
import { CHANGE_OFFSET } from '../../../shared/catalog/changes';
import { streamName } from '../../../shared/catalog/events/envelope';
import { markOf } from '../../../shared/ports/log-offset';
import { allChangesOf, ChangeCollector, type Entry, withKeyNames } from '../../query/change-collector';
import { Feed, POLL_MS } from '../../query/feed';
import { CliError, EXIT, stopSignal, withRuntime, writeOut } from '../invocation';
import { storeOption } from '../options';
import { printable } from '../table';
import { requireStore } from './store';

interface HistoryOptions {
  readonly store: string;
  readonly json?: true;
}

interface ChangesOptions extends HistoryOptions {
  readonly after: string;
  readonly follow?: true;
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
        if (!CHANGE_OFFSET.test(after))
          throw new CliError(`Invalid --after "${after}": expected the id of a change, or now.`, EXIT.usage);
        const { id: store_id, environment } = await requireStore(runtime, store);
        const events = runtime.events[environment];
        const feed = new Feed({ control_view: runtime.views.control }, events, allChangesOf(store_id));
        const signal = stopSignal();
        const hold = feed.follow();
        try {
          let mark = await markOf(events, after);
          for (let wait_ms = 0; !signal.aborted; ) {
            const { entries, next, is_up_to_date } = await feed.readOrWait(mark, wait_ms, hold.changes);
            await print(entries, json);
            if (is_up_to_date && !follow) return;
            wait_ms = is_up_to_date ? POLL_MS : 0;
            mark = next;
          }
        } finally {
          hold.release();
        }
      }),
    );
}

/** The kinds of resources that have an id and a stream of their own. */
const CATEGORIES = ['publication', 'listing', 'media', 'store'] as const;

export function historyCommand(program: Command): void {
  program
    .command('history')
    .argument('<id>', 'ID of a publication, listing, media or store')
    .description('Print who changed what in one resource, oldest first, with the values before and after')
    .addOption(storeOption('ID of its store'))
    .option('--json', 'Print each change as one line of JSON')
    .action(
      withRuntime<HistoryOptions>(async ({ runtime }, { store, json }, [id]): Promise<void> => {
        const { id: store_id, environment } = await requireStore(runtime, store);
        const events = runtime.events[environment];
        const collector = new ChangeCollector(events, allChangesOf(store_id));
        for (const category of CATEGORIES)
          for (const event of await events.readStream(streamName(environment, category, id!), 0))
            await collector.add(event);
        const found = collector.takeEntries();
        if (found.length === 0) throw new CliError(`The store has no resource ${id}.`);
        const entries = await withKeyNames({ control_view: runtime.views.control }, found);
        await print(entries, json);
      }),
    );
}

async function print(entries: readonly Entry[], json: true | undefined): Promise<void> {
  for (const entry of entries) await writeOut(`${json ? JSON.stringify(entry) : summaryOf(entry)}\n`);
}

/** Returns a line for the change, and an indented one for each changed field. */
function summaryOf({ id, type, resource_id, occurred_at, actor, changed }: Entry): string {
  const who = actor.name ?? actor.id ?? actor.type;
  const fields = Object.entries(changed).map(
    ([name, { before, after }]) => `  ${name}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  );
  return [`${occurred_at}  ${type}  ${resource_id}  by ${who}  ${id}`, ...fields].map(printable).join('\n');
}
