import type { CollectionName } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import type { ViewQuery } from '../../shared/ports/view-store';
import type { Runtime } from '../boot/runtime';

const PAGE = 500;

/** The bodies of a collection's documents by id, which is by age. None in a realm that was never projected. */
export async function scanBodies(
  runtime: Runtime,
  realm: Realm,
  collection: CollectionName,
  where: ViewQuery['where'] = {},
): Promise<{ id: string; body: JsonObject }[]> {
  const view = await runtime.views[realm].current();
  if (!view) return [];
  const found: { id: string; body: JsonObject }[] = [];
  for (let after_id: string | undefined; ; ) {
    const from = after_id === undefined ? {} : { after_id };
    const page = await view.scan(collection, { where, ...from, limit: PAGE });
    for (const { id, document } of page) if (document) found.push({ id, body: document.body });
    if (page.length < PAGE) return found;
    after_id = page.at(-1)!.id;
  }
}
