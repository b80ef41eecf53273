import { once } from 'node:events';
import { AlreadyRunningError, reasonOf } from '../../projections/engine/errors';
import type { OnProgress, Progress } from '../../projections/maintenance/progress';
import { rebuild } from '../../projections/maintenance/rebuild';
import type { Realm } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import { Child, type ChildCalls } from '../../shared/kernel/processes';
import { realSystem } from '../../shared/kernel/system';
import { openEventStore, openViewStore } from './open-adapters';
import { type ChildOptions, serveParent } from './process';

/** How long a stop waits for the step that runs. After that, the process is killed. The next rebuild continues. */
const STOP_MS = 3_000;

/** What the rebuilding process answers. */
interface RebuildCalls extends ChildCalls {
  /** Resolves when the rebuild has ended, to the reason if it has failed. */
  rebuild(): Promise<{ readonly failure: string | undefined }>;
}

/** What the rebuilding process calls. */
type StarterCalls = { progressed(progress: Progress): void };
type Options = ChildOptions & { readonly realm: Realm };

/**
 * Rebuilds the documents of a realm in a process of its own, because the statements that create indexes take seconds. The
 * other realms are projected meanwhile. Does not verify, and moves poison events to the dead-letter list. Rejects if the
 * rebuild fails. Does nothing if another process rebuilds the realm.
 */
export async function rebuildInProcess(
  config: Config,
  realm: Realm,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<void> {
  const options: Options = { config, name: 'rebuild', realm };
  const calls: StarterCalls = { progressed: onProgress };
  const child = Child.start<RebuildCalls>('rebuild', calls, { options });
  const stopped = once(signal, 'abort');
  const result = await Promise.race([child.ask('rebuild', undefined), stopped]);
  await child.stop(STOP_MS);
  if (signal.aborted) return;
  const failure = result && 'failure' in result ? result.failure : await child.ended;
  if (failure !== undefined) throw new Error(failure);
}

/** The role `rebuild`. */
export function runRebuild(): void {
  serveParent<Options, StarterCalls>(async ({ config, realm }, parent, { log }) => {
    const events = await openEventStore(config, realm);
    const views = await openViewStore(config, realm);
    const stopping = new AbortController();
    let rebuilding: Promise<unknown> | undefined;
    const run = () =>
      rebuild({
        ...{ realm, events, views, log, system: realSystem, signal: stopping.signal },
        ...{ verify: false, on_poison: 'dead_letter' },
        on_progress: (progress) => parent.tell('progressed', progress),
      });
    const calls: RebuildCalls = {
      rebuild: async () => {
        rebuilding = run();
        return rebuilding.then(
          () => ({ failure: undefined }),
          (error) => ({ failure: error instanceof AlreadyRunningError ? undefined : reasonOf(error) }),
        );
      },
      stop: async () => {
        stopping.abort();
        await rebuilding?.catch(() => {});
        await views.close();
        await events.close();
      },
    };
    return calls;
  });
}
