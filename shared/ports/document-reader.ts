import type { CollectionName, DocumentOf, StoredDocument } from '../catalog/documents';
import type { DocumentPart, ViewQuery, ViewVersion, WordSearch } from './view-store';

type Found<Name extends CollectionName> = StoredDocument<DocumentOf<Name>>;

/** A version as reads see it: each document has the shape that its collection declares, in the parts asked for. */
export interface DocumentReader extends Omit<ViewVersion, 'get' | 'find' | 'search' | 'scan'> {
  get<Name extends CollectionName>(
    collection: Name,
    id: string,
    parts?: readonly DocumentPart[],
  ): Promise<Found<Name> | undefined>;
  find<Name extends CollectionName>(collection: Name, query: ViewQuery): Promise<Found<Name>[]>;
  search<Name extends CollectionName>(collection: Name, query: WordSearch): Promise<Found<Name>[]>;
  scan<Name extends CollectionName>(
    collection: Name,
    options: Parameters<ViewVersion['scan']>[1],
  ): Promise<Found<Name>[]>;
}

/** The version with typed documents. A store keeps them as they were written, so nothing is checked here. */
export const typed = (version: ViewVersion): DocumentReader => version as unknown as DocumentReader;
