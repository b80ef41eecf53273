import type { Command } from 'commander';
import { PoisonError } from '../../../projections/engine/errors';
import { FOLLOWING_WITHIN_MS } from '../../../projections/engine/versions';
import {
  type DeadLetterInVersion,
  deadLetters,
  groupDeadLetters,
  type RetryResult,
  retry,
  skip,
} from '../../../projections/maintenance/dead-letters';
import { dropUnused, rebuild, rollback } from '../../../projections/maintenance/rebuild';
import { readStatus } from '../../../projections/maintenance/status';
import { verify } from '../../../projections/maintenance/verify';
import { parseStreamName, type StreamName } from '../../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../../shared/catalog/realm';
import { pause } from '../../../shared/kernel/async';
import type { Runtime } from '../../boot/runtime';
import { findMissingFiles, type MissingFile } from '../../media/stored-files';
import { catchUpBeforeRead, waitForWrites } from '../catch-up';
import { CliError, EXIT, type ExitCode, stopSignal, withRuntime } from '../invocation';
import { realmOption, realmsOf, verb } from '../options';
import { projectionProgress } from '../progress';
import {
  deadLettersTable,
  groupsTable,
  rebuildTable,
  resultTable,
  statusTable,
  verifyText,
} from '../projection-tables';
import { table } from '../table';

const WATCH_EVERY_MS = 1_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

interface RealmOptions {
  readonly realm?: Realm;
}

export function projectionCommands(program: Command): void {
  const projections = program
    .command('projections')
    .description('Manage the projected documents that reads are answered from');

  verb(projections, 'status', 'Show the position and lag of every partition of every view version')
    .addOption(realmOption())
    .option('--watch', 'Show it again every second, until Ctrl-C')
    .action(
      withRuntime<RealmOptions & { watch?: true }>(async ({ runtime, print }, options): Promise<ExitCode> => {
        // Without --watch, the loop ends after the first round.
        const stop = options.watch ? stopSignal() : AbortSignal.abort();
        do {
          const realms = await perRealm(options, (realm) => readStatus(partsOf(runtime, realm)));
          const clear = options.watch && process.stdout.isTTY ? CLEAR_SCREEN : '';
          await print({ realms }, () => clear + statusTable(realms));
          for (const { realm, versions } of realms) {
            const active = versions.find(({ status }) => status === 'active');
            if (active?.mismatch) throw new CliError(`${realm}: ${active.mismatch}`);
          }
          await pause(WATCH_EVERY_MS, stop);
        } while (!stop.aborted);
        return EXIT.ok;
      }),
    );

  rebuildCommand(projections);
  verifyCommand(projections, 'verify');
  verifyCommand(projections, 'repair');

  pauseCommand(projections, 'pause', 'Stop projecting in every process until "projections resume"');
  pauseCommand(projections, 'resume', 'Continue projecting after "projections pause"');

  verb(projections, 'rollback', 'Switch back to the view version before the last rebuild')
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

  verb(
    projections,
    'drop',
    'Delete the view versions kept for a rollback and the remains of interrupted rebuilds',
  )
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

  deadLetterCommands(projections);
}

function rebuildCommand(projections: Command): void {
  verb(
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

/** Rebuilds the realms of `options`, one after another. Shows the progress and outages on standard error. */
export async function rebuildRealms(
  runtime: Runtime,
  options: RealmOptions & { readonly verify?: boolean },
  on_poison: 'fail' | 'dead_letter',
) {
  const signal = stopSignal();
  const realms = await perRealm(options, async (realm) => {
    const progress = projectionProgress(realm);
    let outage: string | undefined;
    const on_outage = (reason: string): void => {
      progress.clear();
      if (reason !== outage) process.stderr.write(`${realm}: waiting for a store: ${reason}\n`);
      outage = reason;
    };
    const parts = { ...partsOf(runtime, realm), signal, on_progress: progress.show, on_outage };
    const rebuilding = rebuild({ ...parts, verify: options.verify ?? true, on_poison });
    const result = await rebuilding.finally(progress.clear).catch((error: unknown): never => {
      if (!(error instanceof PoisonError)) throw error;
      throw new CliError(
        `${realm}: ${error.message}. The documents stay as they are. To leave out what follows in this stream, run ` +
          '"catalog projections rebuild --dead-letter".',
      );
    });
    return { realm, ...result };
  });
  const has_drifted = realms.some(({ outcome }) => outcome === 'drifted');
  const ended = signal.aborted ? EXIT.interrupted : EXIT.ok;
  return { realms, exit_code: has_drifted ? EXIT.failure : ended };
}

const VERIFY = {
  verify: 'Compare every stored document with a new fold of the log, and look for missing picture files',
  repair: 'Rewrite the documents that "projections verify" finds different; the service may run',
} as const;

function verifyCommand(projections: Command, name: keyof typeof VERIFY): void {
  const repairs = name === 'repair';
  verb(projections, name, VERIFY[name])
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options): Promise<ExitCode> => {
        const signal = stopSignal();
        await catchUpBeforeRead(runtime, ...realmsOf(options));
        const realms = await perRealm(options, async (realm) => {
          const progress = projectionProgress(realm);
          const parts = { ...partsOf(runtime, realm), signal, on_progress: progress.show, repairs };
          return { realm, ...(await verify(parts).finally(progress.clear)) };
        });
        if (signal.aborted)
          throw new CliError(
            'The verification was stopped. Not every document was compared.',
            EXIT.interrupted,
          );
        const missing_files: MissingFile[] = [];
        for (const realm of realmsOf(options))
          if (realm !== 'control') missing_files.push(...(await findMissingFiles(runtime, realm)));
        const clean = realms.every((realm) => realm.clean) && missing_files.length === 0;
        await print({ clean, realms, missing_files }, () => verifyText(realms, missing_files, repairs));
        return clean ? EXIT.ok : EXIT.failure;
      }),
    );
}

/** Adds `pause` or `resume`. Each ends when every process has noticed it. */
function pauseCommand(projections: Command, name: 'pause' | 'resume', description: string): void {
  verb(projections, name, description)
    .addOption(realmOption())
    .action(
      withRuntime<RealmOptions>(async ({ runtime, print }, options) => {
        for (const realm of realmsOf(options)) await runtime.viewStores[realm].setPaused(name === 'pause');
        await pause(FOLLOWING_WITHIN_MS);
        if (name === 'resume') await waitForWrites(runtime, ...realmsOf(options));
        const realms = await perRealm(options, async (realm) => {
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

async function perRealm<Result>(
  options: RealmOptions,
  work: (realm: Realm) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const realm of realmsOf(options)) results.push(await work(realm));
  return results;
}

export function partsOf(runtime: Runtime, realm: Realm) {
  const { system, log } = runtime;
  return { realm, events: runtime.events[realm], views: runtime.viewStores[realm], system, log };
}

/** Adds the commands for streams on the dead-letter list. */
function deadLetterCommands(projections: Command): void {
  verb(projections, 'dead-letters', 'List the streams with an event that could not be projected')
    .addOption(realmOption())
    .option('--by-error', 'Count them by kind of error, with the first of each kind')
    .action(
      withRuntime<RealmOptions & { byError?: true }>(async ({ runtime, print }, options) => {
        const found: (DeadLetterInVersion & { readonly realm: Realm })[] = [];
        for (const realm of realmsOf(options))
          for (const entry of await deadLetters({ views: runtime.viewStores[realm] }))
            found.push({ realm, ...entry });
        const groups = groupDeadLetters(found);
        const tableText = (): string => (options.byError ? groupsTable(groups) : deadLettersTable(found));
        await print(options.byError ? { groups } : { dead_letters: found }, () =>
          found.length === 0 ? 'The dead-letter list is empty.\n' : tableText(),
        );
      }),
    );

  releaseCommand(projections, 'retry', 'Project the waiting events of a stream on the dead-letter list');
  releaseCommand(
    projections,
    'skip',
    'Leave the event that cannot be projected out of the documents; the next rebuild meets it again',
  );
}

/** Adds `retry` or `skip`. It exits with a failure if an event fails again. */
function releaseCommand(projections: Command, name: 'retry' | 'skip', description: string): void {
  const release = { retry, skip }[name];
  verb(projections, name, description)
    .argument('[stream]', 'Stream name as "projections dead-letters" prints it')
    .option('--group <group>', 'All streams of a group that "projections dead-letters --by-error" prints')
    .action(
      withRuntime<{ group?: string }>(async ({ runtime, print }, { group }, [stream]): Promise<ExitCode> => {
        if ((stream === undefined) === (group === undefined))
          throw new CliError('Give either a stream or --group.', EXIT.usage);
        const realms = group === undefined ? [realmOfStream(stream!)] : REALMS;
        const waiting = group === undefined ? { stream: stream as StreamName } : { group };
        const versions: RetryResult[] = [];
        for (const realm of realms) versions.push(...(await release(partsOf(runtime, realm), waiting)));
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

/** Returns the realm in the name of a stream. Throws `CliError` if it is no name of a stream. */
export function realmOfStream(stream: string): Realm {
  const realm = parseStreamName(stream)?.realm;
  if (!realm)
    throw new CliError(
      `Invalid stream "${stream}": expected a name such as live.publication-01890a5d-ac96-774b-bcce-b302099a8057.`,
      EXIT.usage,
    );
  return realm;
}
