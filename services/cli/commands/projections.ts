import type { Command } from 'commander';
import {
  type ParkedInVersion,
  parked,
  type RetryResult,
  retry,
  skip,
} from '../../../projections/maintenance/parked';
import { dropUnused, rebuild, rollback } from '../../../projections/maintenance/rebuild';
import { readStatus } from '../../../projections/maintenance/status';
import { verify } from '../../../projections/maintenance/verify';
import { parseStreamName, type StreamName } from '../../../shared/catalog/events/envelope';
import type { Realm } from '../../../shared/catalog/realm';
import type { Runtime } from '../../boot/runtime';
import { CliError, EXIT, type ExitCode, stopSignal, withRuntime } from '../invocation';
import { realmOption, realmsOf, verb } from '../options';
import { projectionProgress } from '../progress';
import { projectBeforeRead } from '../projected';
import { rebuildTable, statusTable, verifyText } from '../projection-tables';
import { right, table } from '../table';

interface RealmOptions {
  readonly realm?: Realm;
}

export function projectionCommands(program: Command): void {
  const projections = program.command('projections').description('documents that reads are answered from');

  verb(projections, 'status', 'position and lag of every lane, of every version')
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await perRealm(options, (realm) => readStatus(partsOf(runtime, realm)));
        await print({ realms }, () => statusTable(realms));
      }),
    );

  rebuildCommand(projections);
  verifyCommand(projections);

  verb(projections, 'rollback', 'go back to the version before the last rebuild')
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await rollbackEach(runtime, options);
        await print({ realms }, () =>
          table(
            ['realm', 'active', 'before'],
            realms.map(({ realm, version, previous }) => [realm, `v${version}`, `v${previous}`]),
          ),
        );
      }),
    );

  verb(projections, 'drop', 'delete retired versions; there is no rollback to them then')
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await perRealm(options, async (realm) => ({
          realm,
          dropped: await dropUnused(runtime.viewStores[realm]),
        }));
        await print({ realms }, () =>
          table(
            ['realm', 'dropped'],
            realms.map(({ realm, dropped }) => [
              realm,
              dropped.map((version) => `v${version}`).join(' ') || '-',
            ]),
          ),
        );
      }),
    );

  parkedCommands(projections);
}

function rebuildCommand(projections: Command): void {
  verb(projections, 'rebuild', 'make all documents anew from the log, and change over to them')
    .addOption(realmOption())
    .option('--no-verify', 'change over without comparing with a second fold')
    .option('--park', 'park streams that cannot be projected instead of giving up')
    .action(
      withRuntime<RealmOptions & { verify: boolean; park?: true }>(
        async ({ runtime, print }, options): Promise<ExitCode> => {
          const signal = stopSignal();
          const realms = await perRealm(options, async (realm) => {
            const progress = projectionProgress(realm);
            const parts = { ...partsOf(runtime, realm), signal, on_progress: progress.show };
            const on_poison = options.park ? 'park' : 'fail';
            const result = await rebuild({ ...parts, verify: options.verify, on_poison }).finally(
              progress.clear,
            );
            return { realm, ...result };
          });
          await print({ realms }, () => rebuildTable(realms));
          if (realms.some(({ outcome }) => outcome === 'drifted')) return EXIT.failure;
          return signal.aborted ? EXIT.interrupted : EXIT.ok;
        },
      ),
    );
}

function verifyCommand(projections: Command): void {
  verb(projections, 'verify', 'fold the log afresh and compare with every stored document')
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options): Promise<ExitCode> => {
        const signal = stopSignal();
        await projectBeforeRead(runtime, ...realmsOf(options));
        const realms = await perRealm(options, async (realm) => {
          const progress = projectionProgress(realm);
          const parts = { ...partsOf(runtime, realm), signal, on_progress: progress.show };
          return { realm, ...(await verify(parts).finally(progress.clear)) };
        });
        if (signal.aborted) throw new CliError('stopped before everything was compared', EXIT.interrupted);
        const clean = realms.every((realm) => realm.clean);
        await print({ clean, realms }, () => verifyText(realms));
        return clean ? EXIT.ok : EXIT.failure;
      }),
    );
}

/** Of all realms, those that have an earlier version; of one that is named, a failure where it has none. */
async function rollbackEach(runtime: Runtime, options: RealmOptions) {
  const done: { realm: Realm; version: number; previous: number }[] = [];
  for (const realm of realmsOf(options)) {
    const views = runtime.viewStores[realm];
    const possible = (await views.versions()).some(({ status }) => status === 'retired');
    if (possible || options.realm) done.push({ realm, ...(await rollback(views)) });
  }
  if (done.length === 0) throw new CliError('there is no earlier version to go back to');
  return done;
}

async function perRealm<Result>(
  options: RealmOptions,
  work: (realm: Realm) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const realm of realmsOf(options)) results.push(await work(realm));
  return results;
}

function partsOf(runtime: Runtime, realm: Realm) {
  const { system, log } = runtime;
  return { realm, events: runtime.events[realm], views: runtime.viewStores[realm], system, log };
}

/** Streams that wait because an event of theirs could not be projected; all the others go on. */
function parkedCommands(projections: Command): void {
  verb(projections, 'parked', 'streams that wait because an event could not be projected')
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        const found: (ParkedInVersion & { readonly realm: Realm })[] = [];
        for (const realm of realmsOf(options))
          for (const entry of await parked({ views: runtime.viewStores[realm] }))
            found.push({ realm, ...entry });
        await print({ parked: found }, () =>
          found.length === 0
            ? 'No stream is parked.\n'
            : table(
                ['stream', 'version', 'event', 'since', 'reason'],
                found.map(({ stream, version, revision, parked_at, reason }) => [
                  stream,
                  `v${version}`,
                  revision,
                  parked_at,
                  reason,
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
  return withRuntime(async ({ runtime, print }, _options, [stream]): Promise<ExitCode> => {
    const versions = await free(partsOf(runtime, realmOf(stream!)), stream as StreamName);
    if (versions.length === 0) throw new CliError(`${stream} is not parked`);
    await print({ stream, versions }, () => resultTable(versions));
    return versions.every((version) => version.parked === null) ? EXIT.ok : EXIT.failure;
  });
}

function realmOf(stream: string): Realm {
  const realm = parseStreamName(stream)?.realm;
  if (!realm) throw new CliError(`"${stream}" is no stream such as live.publication-…`, EXIT.usage);
  return realm;
}

function resultTable(versions: readonly RetryResult[]): string {
  return table(
    ['version', right('projected'), 'parked again'],
    versions.map(({ version, projected, parked: again }) => [
      ...[`v${version}`, projected, again ? `at event ${again.revision}: ${again.reason}` : 'no'],
    ]),
  );
}
