import type { CollectionName, DocumentOf } from '../../shared/catalog/documents';
import type { Realm } from '../../shared/catalog/realm';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { ViewQuery } from '../../shared/ports/view-store';

const PAGE_SIZE = 500;

interface Views {
  readonly views: Readonly<Record<Realm, ActiveView>>;
}

/** Returns the bodies of the documents that `scanDocuments` returns. */
export async function scanBodies<Name extends CollectionName>(
  views: Views,
  realm: Realm,
  collection: Name,
  where: ViewQuery['where'] = {},
): Promise<DocumentOf<Name>['body'][]> {
  return (await scanDocuments(views, realm, collection, where)).map(({ body }) => body);
}

/** Returns the documents of a collection, oldest first. Returns none if the realm was never projected. */
export async function scanDocuments<Name extends CollectionName>(
  { views }: Views,
  realm: Realm,
  collection: Name,
  where: ViewQuery['where'] = {},
): Promise<DocumentOf<Name>[]> {
  const view = await views[realm].current();
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
