import type { CollectionName, ViewDocument } from '../../shared/catalog/documents';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { ALL_PARTS, type ViewStore } from '../../shared/ports/view-store';
import { waitFor } from './wait-for';

type Change = (before: ViewDocument | undefined) => ViewDocument | null | undefined;

/**
 * Changes a document of the active version behind the back of the projections. Null leaves a tombstone, undefined
 * nothing.
 */
export async function damage(
  views: ViewStore,
  store_id: string,
  collection: CollectionName,
  id: string,
  change: Change,
): Promise<void> {
  const active = (await views.versions()).find(({ status }) => status === 'active');
  const version = await views.open(active!.version);
  const partition = partitionOf(store_id, views.partition_count);
  // Workers may win the race.
  await waitFor(async () => {
    const { checkpoint, revision } = await version.partition(partition);
    const before = await version.get(collection, id, ALL_PARTS);
    const document = change(structuredClone(before?.document ?? undefined));
    const position = (before?.position ?? checkpoint) + 1n;
    const write = {
      collection,
      id,
      position,
      document: document ?? null,
      is_removed: document === undefined,
    };
    const outcome = await version.apply({ partition, revision, checkpoint, writes: [write] });
    return outcome === 'applied';
  });
}

/** Returns a change that sets fields of the body. */
export const withBody =
  (fields: ViewDocument['body']): Change =>
  (before) => ({ ...before!, body: { ...before!.body, ...fields } });
