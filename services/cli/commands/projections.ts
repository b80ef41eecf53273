import type { Command } from 'commander';
import { FOLLOWING_WITHIN_MS } from '../../../projections/engine/versions';
import { deadLetters, groupDeadLetters, retry, skip } from '../../../projections/maintenance/dead-letters';
import { partsOf } from '../../../projections/maintenance/parts';
import { dropUnused, rollback } from '../../../projections/maintenance/rebuild';
import { readStatus } from '../../../projections/maintenance/status';
import { verify } from '../../../projections/maintenance/verify';
import type { StreamName } from '../../../shared/catalog/events/envelope';
import { ENVIRONMENTS, REALMS, type Realm } from '../../../shared/catalog/realm';
import { pause } from '../../../shared/kernel/async';
import type { Runtime } from '../../boot/runtime';
import { findMissingFiles } from '../../media/stored-files';
import { catchUpBeforeRead, waitForWrites } from '../catch-up';
import { CliError, EXIT, type ExitCode, stopSignal, withRuntime } from '../invocation';
import { realmOption, realmsOf, subcommand } from '../options';
import { projectionProgress } from '../progress';
import {
  deadLettersTable,
  groupsTable,
  rebuildTable,
  resultTable,
  statusTable,
  verifyText,
} from '../projection-tables';
import { perRealm, type RealmOptions, realmOfStream, rebuildRealms } from '../realms';
import { table } from '../table';

const WATCH_EVERY_MS = 1_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

export function projectionCommands(program: Command): void {
  const projections = program
    .command('projections')
    .description('Manage the projected documents that reads are answered from');

  subcommand(projections, 'status', 'Show the position and lag of every partition of every view version')
    .addOption(realmOption())
    .option('--watch', 'Show it again every second, until Ctrl-C')
    .action(
      withRuntime<RealmOptions & { watch?: true }>(async ({ runtime, print }, options): Promise<ExitCode> => {
        const stop = options.watch && stopSignal();
        do {
          const realms = await perRealm(realmsOf(options), (realm) => readStatus(partsOf(runtime, realm)));
          const clear = options.watch && process.stdout.isTTY ? CLEAR_SCREEN : '';
          await print({ realms }, () => clear + statusTable(realms));
          for (const { realm, versions } of realms) {
            const active = versions.find(({ status }) => status === 'active');
            if (active?.mismatch) throw new CliError(`${realm}: ${active.mismatch}`);
          }
          if (stop) await pause(WATCH_EVERY_MS, stop);
        } while (stop && !stop.aborted);
        return EXIT.ok;
      }),
    );

  rebuildCommand(projections);
  verifyCommand(projections, 'verify');
  verifyCommand(projections, 'repair');

  pauseCommand(projections, 'pause', 'Stop projecting in every process until "projections resume"');
  pauseCommand(projections, 'resume', 'Continue projecting after "projections pause"');

  subcommand(projections, 'rollback', 'Switch back to the view version before the last rebuild')
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await rollbackEach(runtime, options);
        await print({ realms }, () =>
          table(
            ['realm', 'active', 'previous'],
            realms.map(({ realm, version, previous }) => [realm, `v${version}`, `v${previous}`]),
          ),
        );
      }),
    );

  subcommand(
    projections,
    'drop',
    'Delete the view versions kept for a rollback and the remains of interrupted rebuilds',
  )
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        const realms = await perRealm(realmsOf(options), async (realm) => ({
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

  deadLetterCommands(projections);
}

function rebuildCommand(projections: Command): void {
  subcommand(
    projections,
    'rebuild',
    'Build a new view version from the log and switch to it; continues an interrupted rebuild',
  )
    .addOption(realmOption())
    .option('--no-verify', 'Switch without comparing the new version with a second fold of the log')
    .option(
      '--dead-letter',
      'Move streams that cannot be projected to the dead-letter list instead of failing',
    )
    .action(
      withRuntime<RealmOptions & { verify: boolean; deadLetter?: true }>(
        async ({ runtime, print }, options): Promise<ExitCode> => {
          const on_poison = options.deadLetter ? 'dead_letter' : 'fail';
          const { realms, exit_code } = await rebuildRealms(runtime, options, on_poison);
          await print({ realms }, () => rebuildTable(realms));
          return exit_code;
        },
      ),
    );
}

const VERIFY = {
  verify: 'Compare every stored document with a new fold of the log, and look for missing picture files',
  repair: 'Rewrite the documents that "projections verify" finds different; the service may run',
} as const;

function verifyCommand(projections: Command, name: keyof typeof VERIFY): void {
  const repairs = name === 'repair';
  subcommand(projections, name, VERIFY[name])
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options): Promise<ExitCode> => {
        const signal = stopSignal();
        await catchUpBeforeRead(runtime, ...realmsOf(options));
        const realms = await perRealm(realmsOf(options), async (realm) => {
          const progress = projectionProgress(realm);
          const parts = { ...partsOf(runtime, realm), signal, on_progress: progress.show, repairs };
          return { realm, ...(await verify(parts).finally(progress.clear)) };
        });
        if (signal.aborted)
          throw new CliError(
            `The command was stopped. Not every document was ${repairs ? 'compared and rewritten' : 'compared'}.`,
            EXIT.interrupted,
          );
        const environments = ENVIRONMENTS.filter((environment) => realmsOf(options).includes(environment));
        const missing = await perRealm(environments, (environment) => findMissingFiles(runtime, environment));
        const missing_files = missing.flat();
        const clean = realms.every((realm) => realm.clean) && missing_files.length === 0;
        await print({ clean, realms, missing_files }, () => verifyText(realms, missing_files, repairs));
        return clean ? EXIT.ok : EXIT.failure;
      }),
    );
}

/** Adds `pause` or `resume`. The command ends when every process has noticed it. */
function pauseCommand(projections: Command, name: 'pause' | 'resume', description: string): void {
  subcommand(projections, name, description)
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        for (const realm of realmsOf(options)) await runtime.viewStores[realm].setPaused(name === 'pause');
        // Within this time, every process notices it.
        await pause(FOLLOWING_WITHIN_MS);
        if (name === 'resume') await waitForWrites(runtime, ...realmsOf(options));
        const realms = await perRealm(realmsOf(options), async (realm) => {
          const paused_since = (await runtime.viewStores[realm].pausedSince()) ?? null;
          return { realm, paused_since };
        });
        await print({ realms }, () =>
          table(
            ['realm', 'paused since'],
            realms.map(({ realm, paused_since }) => [realm, paused_since ?? '-']),
          ),
        );
      }),
    );
}

/**
 * Rolls back every realm that has a retired version. Throws if none has one, or if the realm given by `--realm` has
 * none.
 */
async function rollbackEach(runtime: Runtime, options: RealmOptions) {
  const rolled_back: { realm: Realm; version: number; previous: number }[] = [];
  for (const realm of realmsOf(options)) {
    const parts = partsOf(runtime, realm);
    const has_retired = (await parts.views.versions()).some(({ status }) => status === 'retired');
    if (has_retired || options.realm) rolled_back.push({ realm, ...(await rollback(parts)) });
  }
  if (rolled_back.length === 0) throw new CliError('No earlier view version to roll back to.');
  return rolled_back;
}

/** Adds the commands for streams on the dead-letter list. */
function deadLetterCommands(projections: Command): void {
  subcommand(projections, 'dead-letters', 'List the streams with an event that could not be projected')
    .addOption(realmOption())
    .option('--by-error', 'Count them by kind of error, with the first of each kind')
    .action(
      withRuntime<RealmOptions & { byError?: true }>(async ({ runtime, print }, options) => {
        const of_realms = await perRealm(realmsOf(options), async (realm) => {
          const entries = await deadLetters({ views: runtime.viewStores[realm] });
          return entries.map((entry) => ({ realm, ...entry }));
        });
        const found = of_realms.flat();
        const groups = groupDeadLetters(found);
        const tableText = (): string => (options.byError ? groupsTable(groups) : deadLettersTable(found));
        await print(options.byError ? { groups } : { dead_letters: found }, () =>
          found.length === 0 ? 'The dead-letter list is empty.\n' : tableText(),
        );
      }),
    );

  deadLetterCommand(projections, 'retry', 'Project the waiting events of a stream on the dead-letter list');
  deadLetterCommand(
    projections,
    'skip',
    'Leave the event that cannot be projected out of the documents; the next rebuild meets it again',
  );
}

/** Adds `retry` or `skip`. The command exits with a failure if an event fails again. */
function deadLetterCommand(projections: Command, name: 'retry' | 'skip', description: string): void {
  const act = { retry, skip }[name];
  subcommand(projections, name, description)
    .argument('[stream]', 'Stream name as "projections dead-letters" prints it')
    .option('--group <group>', 'All streams of a group that "projections dead-letters --by-error" prints')
    .action(
      withRuntime<{ group?: string }>(async ({ runtime, print }, { group }, [stream]): Promise<ExitCode> => {
        if ((stream === undefined) === (group === undefined))
          throw new CliError('Give either a stream or --group.', EXIT.usage);
        const realms = group === undefined ? [realmOfStream(stream!)] : REALMS;
        const waiting = group === undefined ? { stream: stream as StreamName } : { group };
        const of_realms = await perRealm(realms, (realm) => act(partsOf(runtime, realm), waiting));
        const versions = of_realms.flat();
        if (versions.length === 0)
          throw new CliError(
            `${stream ?? `Group ${group}`} is not on the dead-letter list. List it with "catalog projections ` +
              `dead-letters${group === undefined ? '' : ' --by-error'}".`,
          );
        await print({ ...waiting, versions }, () => resultTable(versions));
        return versions.every((version) => version.dead_letter === null) ? EXIT.ok : EXIT.failure;
      }),
    );
}
