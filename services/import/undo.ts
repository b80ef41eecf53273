import { parseStreamName, START, type StreamName } from '../../shared/catalog/events/envelope';
import { isIdle } from '../../shared/catalog/fields';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import { load, loadUpTo, streamIn, streamNameOf } from '../../shared/ports/stream-state';
import { dryRun } from '../command/dry-run';
import type { StoreDeps, WriteContext } from '../command/execute';
import { deletePublication } from '../command/publication';
import { revertTo } from '../command/revert';
import { runPool } from './pool';

const CONCURRENCY = 20;
/** Events that do not count as a change since the import. */
const NO_CHANGES = ['PublicationViewed', 'EventSuperseded'];

export interface UndoReport {
  /** Publications that the import created, and that are deleted now. */
  readonly deleted: number;
  /** Publications set back to their values from before the import. */
  readonly reverted: number;
  /** Publications that stay as they are, each with the reason. */
  readonly kept: readonly { readonly id: string; readonly title: string; readonly reason: string }[];
}

interface Undo {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** The run of the import, which its report names. */
  readonly run: string;
  readonly dry_run: boolean;
  readonly signal: AbortSignal;
  readonly on_progress: (done: number, total: number) => void;
}

/**
 * Undoes what an import has done to publications that nobody has changed since. Returns undefined if the store has no
 * import of this run. Its listings, pictures and reviews stay. Running it again undoes the rest, and does not count the
 * publications that are undone already. Reads the whole log of the environment to find the run.
 */
export async function undoImport(
  runtime: StoreDeps,
  context: WriteContext,
  undo: Undo,
): Promise<UndoReport | undefined> {
  const { environment, run, dry_run, signal } = undo;
  const deps = dry_run ? dryRun(runtime, environment) : runtime;
  const changed = await publicationsOf(deps, undo);
  if (changed === undefined) return undefined;
  // Marks the events of the undo.
  const undone_by = `undo-${run}`;
  const written = { ...context, request_id: undone_by };
  const counts = { deleted: 0, reverted: 0 };
  const kept: UndoReport['kept'][number][] = [];
  let done = 0;

  const undoOne = async (id: PublicationId, first: number): Promise<void> => {
    const ref = streamIn(deps, environment, publicationAggregate, id);
    const { state } = await load<Publication>(ref);
    if (state.tag !== 'present') return;
    const keep = (reason: string): void => void kept.push({ id, title: state.resource.title, reason });
    const since = (await ref.events.readStream(streamNameOf(ref), first))
      .filter((event) => !NO_CHANGES.includes(event.type) && !isIdle(event))
      .map(({ metadata }) => metadata.request_id ?? '');
    const is_undone = since.at(-1) === undone_by;
    const is_changed = since.some((request_id) => request_id !== run && request_id !== undone_by);
    const is_new = first === 0;
    try {
      if (is_changed) keep('changed since');
      else if (is_undone) return;
      else if (is_new) {
        await deletePublication(deps, written, { environment, id });
        counts.deleted++;
      } else {
        const { state: before } = await loadUpTo<Publication>(ref, first - 1);
        if (before.tag !== 'present') return keep('it was deleted before');
        await revertTo(deps, written, { environment, id }, async () => before.resource);
        counts.reverted++;
      }
    } catch (error) {
      if (is_new || !(error instanceof CatalogError) || error.condition === 'unavailable') throw error;
      keep(error.message);
    }
  };
  const undoAndCount = async ([id, first]: readonly [PublicationId, number]): Promise<void> => {
    await undoOne(id, first);
    undo.on_progress(++done, changed.size);
  };
  await runPool(changed, CONCURRENCY, undoAndCount, signal);
  return { ...counts, kept };
}

/** Returns the revision of the first event of the import in each publication, undefined if the log has no such import. */
async function publicationsOf(
  { events }: StoreDeps,
  { environment, store_id, run, signal }: Undo,
): Promise<Map<PublicationId, number> | undefined> {
  const log = events[environment];
  const head = await log.head();
  const reading = new AbortController();
  const first = new Map<PublicationId, number>();
  let is_known = false;
  for await (const batch of log.subscribe({
    after: START,
    signal: AbortSignal.any([signal, reading.signal]),
  })) {
    for (const { metadata, stream, revision } of batch.events) {
      if (metadata.request_id !== run || metadata.partition_key !== store_id) continue;
      is_known = true;
      const { category, id } = parseStreamName(stream as StreamName) ?? {};
      if (category === 'publication' && !first.has(id as PublicationId))
        first.set(id as PublicationId, revision);
    }
    if (batch.position >= head || batch.caught_up) break;
  }
  reading.abort();
  return is_known ? first : undefined;
}
