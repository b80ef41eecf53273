import type { Command } from 'commander';
import { dropUnused, rebuild, rollback } from '../../../projections/maintenance/rebuild';
import { readStatus } from '../../../projections/maintenance/status';
import { verify } from '../../../projections/maintenance/verify';
import type { Realm } from '../../../shared/catalog/realm';
import type { Runtime } from '../../boot/runtime';
import { CliError, EXIT, type ExitCode } from '../failure';
import { realmOption, realmsOf, verb } from '../options';
import { projectBeforeRead } from '../projected';
import { projectionProgress } from '../projection-progress';
import { rebuildTable, statusTable, verifyText } from '../projection-tables';
import { stopSignal, withSession } from '../session';
import { table } from '../table';
import { parkedCommands } from './parked';

interface RealmOptions {
  readonly realm?: Realm;
}

export function projectionCommands(program: Command): void {
  const projections = program.command('projections').description('documents that reads are answered from');

  verb(projections, 'status', 'position and lag of every lane, of every version')
    .addOption(realmOption())
    .action(
      withSession<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await perRealm(options, (realm) => readStatus(partsOf(runtime, realm)));
        await print({ realms }, () => statusTable(realms));
      }),
    );

  rebuildCommand(projections);
  verifyCommand(projections);

  verb(projections, 'rollback', 'go back to the version before the last rebuild')
    .addOption(realmOption())
    .action(
      withSession<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await rollbackEach(runtime, options);
        const columns = [{ title: 'realm' }, { title: 'active' }, { title: 'before' }];
        await print({ realms }, () =>
          table(
            columns,
            realms.map(({ realm, version, previous }) => [realm, `v${version}`, `v${previous}`]),
          ),
        );
      }),
    );

  verb(projections, 'drop', 'delete retired versions; there is no rollback to them then')
    .addOption(realmOption())
    .action(
      withSession<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await perRealm(options, async (realm) => ({
          realm,
          dropped: await dropUnused(runtime.viewStores[realm]),
        }));
        await print({ realms }, () =>
          table(
            [{ title: 'realm' }, { title: 'dropped' }],
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
      withSession<RealmOptions & { verify: boolean; park?: true }>(
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
      withSession<RealmOptions>(async ({ runtime, print }, options): Promise<ExitCode> => {
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
