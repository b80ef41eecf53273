import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import { PageSize } from '../../shared/kernel/async';
import type { ViewQuery, ViewVersion } from '../../shared/ports/view-store';
import { textLengthOf } from './working-document';

/** Maximum number of documents in a page, and of their characters. A single document may be larger. */
const LIMITS = { items_max: 500, length_max: 16_000_000 };

/**
 * Yields the documents of a collection in order of id, including tombstones. With `where`, yields only documents that
 * match, so no tombstones. The consumer may change the documents of a page before it asks for the next page.
 */
export async function* pagesOf(
  version: ViewVersion,
  collection: CollectionName,
  where?: ViewQuery['where'],
): AsyncGenerator<StoredDocument[], undefined> {
  const size = new PageSize(LIMITS);
  let after_id: string | undefined;
  for (;;) {
    const limit = size.items;
    const after = after_id === undefined ? {} : { after_id };
    const page = await version.scan(collection, { limit, ...(where && { where }), ...after });
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    after_id = page.at(-1)!.id;
    size.report(
      page.length,
      page.reduce((sum, { document }) => sum + textLengthOf(document), 0),
    );
  }
}

/** Yields the documents of a collection in order of id, including tombstones. */
export async function* documentsOf(
  version: ViewVersion,
  collection: CollectionName,
): AsyncGenerator<StoredDocument, undefined> {
  for await (const page of pagesOf(version, collection)) yield* page;
}
