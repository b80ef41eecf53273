import type { CollectionName, DocumentOf } from '../../shared/catalog/documents';
import type { Realm } from '../../shared/catalog/realm';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { ViewQuery } from '../../shared/ports/view-store';

const PAGE_SIZE = 500;

/** Returns the bodies of a collection's documents, oldest first. Returns none if the realm was never projected. */
export async function scanBodies<Name extends CollectionName>(
  { views }: { readonly views: Readonly<Record<Realm, ActiveView>> },
  realm: Realm,
  collection: Name,
  where: ViewQuery['where'] = {},
): Promise<DocumentOf<Name>['body'][]> {
  const view = await views[realm].current();
  if (!view) return [];
  const found: DocumentOf<Name>['body'][] = [];
  for (let after_id: string | undefined; ; ) {
    const from = after_id === undefined ? {} : { after_id };
    const page = await view.scan(collection, { where, ...from, limit: PAGE_SIZE });
    for (const { document } of page) if (document) found.push(document.body);
    if (page.length < PAGE_SIZE) return found;
    after_id = page.at(-1)!.id;
  }
}
