import type { CollectionName, DocumentOf } from '../catalog/documents';
import type { ActiveView } from './document-reader';
import type { ViewQuery } from './view-store';

const PAGE_SIZE = 500;

/** Returns the bodies of the documents that `scanDocuments` returns. */
export async function scanBodies<Name extends CollectionName>(
  active: ActiveView,
  collection: Name,
  where: ViewQuery['where'] = {},
): Promise<DocumentOf<Name>['body'][]> {
  return (await scanDocuments(active, collection, where)).map(({ body }) => body);
}

/** Returns the documents of a collection, oldest first. Returns none if the realm was never projected. */
export async function scanDocuments<Name extends CollectionName>(
  active: ActiveView,
  collection: Name,
  where: ViewQuery['where'] = {},
): Promise<DocumentOf<Name>[]> {
  const view = await active.current();
  if (!view) return [];
  const found: DocumentOf<Name>[] = [];
  for (let after_id: string | undefined; ; ) {
    const from = after_id === undefined ? {} : { after_id };
    const page = await view.scan(collection, { where, ...from, limit: PAGE_SIZE });
    for (const { document } of page) if (document) found.push(document);
    if (page.length < PAGE_SIZE) return found;
    after_id = page.at(-1)!.id;
  }
}
