import type { Command } from 'commander';
import {
  type ParkedInVersion,
  parked,
  type RetryResult,
  retry,
  skip,
} from '../../../projections/maintenance/parked';
import { parseStreamName, type StreamName } from '../../../shared/catalog/events/envelope';
import type { Realm } from '../../../shared/catalog/realm';
import type { Runtime } from '../../boot/runtime';
import { CliError, EXIT, type ExitCode } from '../failure';
import { realmOption, realmsOf, verb } from '../options';
import { withSession } from '../session';
import { table } from '../table';

/** Streams that wait because an event of theirs could not be projected; all the others go on. */
export function parkedCommands(projections: Command): void {
  verb(projections, 'parked', 'streams that wait because an event could not be projected')
    .addOption(realmOption())
    .action(
      withSession<{ realm?: Realm }>(async ({ runtime, print }, options) => {
        const found: (ParkedInVersion & { readonly realm: Realm })[] = [];
        for (const realm of realmsOf(options))
          for (const entry of await parked({ views: runtime.viewStores[realm] }))
            found.push({ realm, ...entry });
        await print({ parked: found }, () =>
          found.length === 0
            ? 'No stream is parked.\n'
            : table(
                ['stream', 'version', 'event', 'since', 'reason'].map((title) => ({ title })),
                found.map(({ stream, version, revision, parked_at, reason }) => [
                  ...[stream, `v${version}`, String(revision), parked_at, reason],
                ]),
              ),
        );
      }),
    );

  verb(projections, 'retry', 'project what waits in a parked stream')
    .argument('<stream>', 'as "projections parked" names it')
    .action(freeWith(retry));
  verb(projections, 'skip', 'leave out the event that a stream is parked at (a later rebuild meets it again)')
    .argument('<stream>', 'as "projections parked" names it')
    .action(freeWith(skip));
}

/** Failure where the stream is parked again. */
function freeWith(free: typeof retry) {
  return withSession(async ({ runtime, print }, _options, [stream]): Promise<ExitCode> => {
    const versions = await free(partsOf(runtime, stream!), stream as StreamName);
    if (versions.length === 0) throw new CliError(`${stream} is not parked`);
    await print({ stream, versions }, () => resultTable(versions));
    return versions.every((version) => version.parked === null) ? EXIT.ok : EXIT.failure;
  });
}

function partsOf(runtime: Runtime, stream: string) {
  const realm = parseStreamName(stream)?.realm;
  if (!realm) throw new CliError(`"${stream}" is no stream such as live.publication-…`, EXIT.usage);
  const { system, log } = runtime;
  return { events: runtime.events[realm], views: runtime.viewStores[realm], system, log };
}

function resultTable(versions: readonly RetryResult[]): string {
  return table(
    [{ title: 'version' }, { title: 'projected', align: 'right' }, { title: 'parked again' }],
    versions.map(({ version, projected, parked: again }) => [
      ...[`v${version}`, String(projected), again ? `at event ${again.revision}: ${again.reason}` : 'no'],
    ]),
  );
}
