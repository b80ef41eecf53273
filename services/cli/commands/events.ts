import type { Command } from 'commander';
import {
  isWanted,
  newestEvents,
  showStream,
  type WantedEvents,
} from '../../../projections/maintenance/event-log';
import { type RecordedEvent, START, type StreamName } from '../../../shared/catalog/events/envelope';
import { greatest } from '../../../shared/catalog/events/positions';
import type { Realm } from '../../../shared/catalog/realm';
import { exportEvents, importEvents } from '../event-file';
import { CliError, EXIT, type ExitCode, MAY_CREATE, stopSignal, withRuntime, writeOut } from '../invocation';
import {
  idArgument,
  listArgument,
  realmOption,
  subcommand,
  timeArgument,
  wholeNumberArgument,
} from '../options';
import { withProgressBar } from '../progress';
import { rebuildTable } from '../projection-tables';
import { realmOfStream, rebuildRealms } from '../realms';
import { fieldsTable, printable } from '../table';
import { requireStore } from './store';
import { supersedeCommand } from './supersede';

interface TailOptions extends WantedEvents {
  readonly realm?: Realm;
  readonly last: number;
  readonly follow?: true;
  readonly json?: true;
}

export function eventCommands(program: Command): void {
  const events = program.command('events').description('Read, copy and move the event log');

  events
    .command('tail')
    .description('Print the newest events of a realm, oldest first')
    .addOption(realmOption('Realm; default: live, or that of --store'))
    .option('--store <id>', 'Only events of this store', idArgument('store'))
    .option('--type <types>', 'Only events of these types, separated by commas', listArgument)
    .option('--since <time>', 'Only events from this ISO 8601 time on', timeArgument('--since'))
    .option('--last <number>', 'How many events to print', wholeNumberArgument('--last'), 20)
    .option('--follow', 'Wait for further events until Ctrl-C')
    .option('--json', 'Print each event as one line of JSON')
    .action(
      withRuntime<TailOptions>(async ({ runtime }, options): Promise<void> => {
        const { store, last, follow, json } = options;
        const realm = store ? (await requireStore(runtime, store)).environment : (options.realm ?? 'live');
        const show = (event: RecordedEvent) => writeOut(`${json ? asJson(event) : summaryOf(event)}\n`);
        const log = runtime.events[realm];
        const head = await log.head();
        const { events } = await newestEvents(log, options, last);
        for (const event of events.toReversed()) await show(event);
        if (!follow) return;
        const after = greatest([head, events[0]?.position ?? START]);
        for await (const batch of log.subscribe({ after, signal: stopSignal() }))
          for (const event of batch.events) if (isWanted(event, options)) await show(event);
      }),
    );

  subcommand(events, 'show', 'Print the events of a stream as this release reads them')
    .argument('<stream>', 'Stream name as "events tail" prints it')
    .action(
      withRuntime(async ({ runtime, print }, _options, [name]): Promise<void> => {
        const stream = name as StreamName;
        const realm = realmOfStream(stream);
        const stores = { events: runtime.events[realm], views: runtime.viewStores[realm] };
        const shown = await showStream(stores, stream);
        const { dead_letter } = shown;
        if (shown.events.length === 0) throw new CliError(`The stream ${stream} has no events.`);
        await print({ stream, ...shown }, () =>
          shown.events
            .map((event) => {
              const failed = dead_letter?.revision === event.revision ? dead_letter.reason : undefined;
              const notes = [
                event.error && `cannot be read: ${event.error}`,
                failed && `dead letter: ${failed}`,
              ];
              const lines = [JSON.stringify(event.data, null, 2), ...notes.filter(Boolean)]
                .join('\n')
                .split('\n');
              return [summaryOf(event), ...lines.map((line) => `  ${printable(line!)}`), ''].join('\n');
            })
            .join(''),
        );
      }),
    );

  supersedeCommand(events);

  subcommand(events, 'export', 'Write all events to a new file; a server may run')
    .argument('<file>', 'File to create')
    .action(
      withRuntime(async ({ runtime, print }, _options, [path]): Promise<ExitCode> => {
        const { events: count, damaged } = await withProgressBar('exporting', (on_progress) =>
          exportEvents(runtime.events, path!, (done) => on_progress(done, done)),
        );
        for (const stream of damaged)
          process.stderr.write(
            `catalog: Warning: an event of ${stream} cannot be read; the file has it without data.\n`,
          );
        await print({ file: path, events: count, damaged }, () => fieldsTable({ file: path, events: count }));
        return damaged.length > 0 ? EXIT.failure : EXIT.ok;
      }),
    );

  subcommand(events, 'import', 'Append the events of a file to an empty catalog, and build the documents')
    .argument('<file>', 'File that "catalog events export" wrote')
    .action(
      withRuntime(async ({ runtime, print }, _options, [path]): Promise<ExitCode> => {
        const signal = stopSignal();
        const imported = await withProgressBar('importing', (on_progress) =>
          importEvents(runtime.events, path!, { signal, on_progress }),
        );
        if (signal.aborted) {
          await print(imported, () => fieldsTable(imported));
          return EXIT.interrupted;
        }
        const { realms, exit_code } = await rebuildRealms(runtime, {}, 'dead_letter');
        await print({ ...imported, realms }, () => `${fieldsTable(imported)}\n${rebuildTable(realms)}`);
        return exit_code;
      }, MAY_CREATE),
    );
}

function summaryOf({ position, stream, revision, type, metadata }: RecordedEvent): string {
  const { occurred_at, source, api_key_id, request_id, run } = metadata;
  const by = [
    source,
    api_key_id && `key ${api_key_id}`,
    request_id && `request ${request_id}`,
    run && `run ${run}`,
  ];
  return printable([occurred_at, position, stream, revision, type, ...by.filter(Boolean)].join('  '));
}

const asJson = ({ position, ...event }: RecordedEvent): string =>
  JSON.stringify({ position: String(position), ...event });
