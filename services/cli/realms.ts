import { PoisonError } from '../../projections/engine/errors';
import { partsOf } from '../../projections/maintenance/parts';
import { rebuild } from '../../projections/maintenance/rebuild';
import { parseStreamName } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import type { Runtime } from '../boot/runtime';
import { CliError, EXIT, stopSignal } from './invocation';
import { realmsOf } from './options';
import { projectionProgress } from './progress';

/** The option `--realm`. */
export interface RealmOptions {
  readonly realm?: Realm;
}

/** Works on the realms one after another. */
export async function perRealm<Name extends Realm, Result>(
  realms: readonly Name[],
  work: (realm: Name) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const realm of realms) results.push(await work(realm));
  return results;
}

/** Rebuilds the realms of `options`, one after another. Shows the progress and outages on standard error. */
export async function rebuildRealms(
  runtime: Runtime,
  options: RealmOptions & { readonly verify?: boolean },
  on_poison: 'fail' | 'dead_letter',
) {
  const signal = stopSignal();
  const realms = await perRealm(realmsOf(options), async (realm) => {
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
