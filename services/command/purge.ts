import type { ABSENT, Aggregate, State } from '../../shared/catalog/events/aggregate';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { EraseCommand } from '../../shared/catalog/field-aggregate';
import { listingAggregate } from '../../shared/catalog/listing/listing';
import { mediaAggregate } from '../../shared/catalog/media/media';
import { publicationAggregate } from '../../shared/catalog/publication/publication';
import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import { reviewAggregate } from '../../shared/catalog/review/review';
import type { AnyId, StoreId } from '../../shared/kernel/ids';
import { forgetStates, load, streamIn, streamNameOf } from '../../shared/ports/stream-state';
import { execute, type StoreDeps, type WriteContext } from './execute';

/*
 * Erases what a deleted resource contained from the log (docs/operations/erasure.md).
 */

type Purgeable = Aggregate<{ readonly store_id: StoreId }, DomainEvent, AnyId, EraseCommand>;

const AGGREGATES = [
  ...[publicationAggregate, listingAggregate],
  ...[reviewAggregate, mediaAggregate],
] as unknown as readonly Purgeable[];

export interface PurgeTarget {
  readonly environment: Environment;
  readonly aggregate: Purgeable;
  readonly id: AnyId;
  readonly state: Exclude<State<{ readonly store_id: StoreId }>, typeof ABSENT>;
}

/** Finds the publication, listing, review or media with this id, whether it is deleted or not. */
export async function findPurgeTarget(deps: StoreDeps, id: AnyId): Promise<PurgeTarget | undefined> {
  for (const environment of ENVIRONMENTS)
    for (const aggregate of AGGREGATES) {
      const { state } = await load<{ readonly store_id: StoreId }>(
        streamIn(deps, environment, aggregate, id),
      );
      if (state.tag !== 'absent') return { environment, aggregate, id, state };
    }
  return undefined;
}

/**
 * Makes the deletion final, and removes the earlier events of the resource. Returns their number. A repetition after a crash
 * does the rest. Throws `lost_race` if the resource was restored meanwhile.
 */
export async function purge(
  deps: StoreDeps,
  context: WriteContext,
  { environment, aggregate, id, state }: PurgeTarget,
): Promise<number> {
  const ref = streamIn(deps, environment, aggregate, id);
  const stream = streamNameOf(ref);
  const store_id = state.tag === 'deleted' ? state.store_id : state.resource.store_id;
  const recorded = await ref.events.readStream(stream);
  const erased = recorded.findLast(({ type }) => type.endsWith('Erased'));
  const { revision } =
    erased ??
    (await execute<{ readonly store_id: StoreId }, EraseCommand>({
      ...ref,
      context,
      owner: { store_id },
      prepare: () => ({ command: { type: 'Erase', store_id } }),
    }));
  await ref.events.truncate(stream, revision);
  forgetStates(ref.events, stream);
  return recorded.filter((event) => event.revision < revision).length;
}
