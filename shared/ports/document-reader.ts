import type { CollectionName, DocumentOf, StoredDocument } from '../catalog/documents';
import type {
  DocumentPart,
  RelatedQuery,
  ViewQuery,
  ViewVersion,
  WordSearch,
  WordSearchResult,
} from './view-store';

type Found<Name extends CollectionName> = StoredDocument<DocumentOf<Name>>;

/** A view version with the document type of each collection. Read handlers use it. */
export interface DocumentReader
  extends Omit<ViewVersion, 'upToDate' | 'get' | 'getMany' | 'find' | 'search' | 'related' | 'scan'> {
  readonly upToDate?: DocumentReader | undefined;
  get<Name extends CollectionName>(
    collection: Name,
    id: string,
    parts?: readonly DocumentPart[],
  ): Promise<Found<Name> | undefined>;
  getMany<Name extends CollectionName>(
    collection: Name,
    ids: readonly string[],
    parts?: readonly DocumentPart[],
  ): Promise<Found<Name>[]>;
  find<Name extends CollectionName>(collection: Name, query: ViewQuery): Promise<Found<Name>[]>;
  search<Name extends CollectionName>(
    collection: Name,
    query: WordSearch,
  ): Promise<WordSearchResult<Found<Name>>>;
  related<Name extends CollectionName>(collection: Name, query: RelatedQuery): Promise<Found<Name>[]>;
  scan<Name extends CollectionName>(
    collection: Name,
    options: Parameters<ViewVersion['scan']>[1],
  ): Promise<Found<Name>[]>;
}

/**
 * How long readers may use the previous version after another one is activated. Its documents do not become outdated
 * in this time, because a retired version still receives events.
 */
export const ACTIVE_TTL_MS = 500;

/** The active version of a view store, for readers. */
export interface ActiveView {
  readonly partition_count: number;
  /** Returns the active version, at most 0.5 s old. Returns undefined if no version was ever activated. */
  current(): Promise<DocumentReader | undefined>;
}
