import type { CatalogClient, Change } from 'catalog-client';

/** An answer ends after 10,000 events of the log. A short list does not go further back than this many answers. */
const ANSWERS_MAX = 5;

type HistoryQuery = NonNullable<Parameters<CatalogClient['store']['fullHistory']>[0]>;

/** Leaves out that the service has prepared an uploaded picture. */
export const isOfPeople = ({ type, actor }: Change): boolean =>
  !(type === 'media.updated' && actor.type === 'system');

/** Returns the newest changes, at most `count`. */
export async function recentChanges(
  client: CatalogClient,
  count: number,
  query: HistoryQuery = {},
): Promise<Change[]> {
  const changes: Change[] = [];
  let cursor: string | undefined;
  for (let answers = 0; answers < ANSWERS_MAX && changes.length < count; answers++) {
    const { data, meta } = await client.store.fullHistory({ ...query, cursor, limit: count }).page();
    changes.push(...data.filter(isOfPeople));
    cursor = meta.next_cursor;
    if (cursor === undefined) break;
  }
  return changes.slice(0, count);
}
