import { createHash } from 'node:crypto';
import { LRUCache } from '../../shared/kernel/cache';
import type { StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { ORDER } from './products';

/** What feeds and sitemaps are made from. Private listings are in the paths of public ones below them. */
const SOURCES = [
  ['publications', 'public'],
  ['listings', 'public'],
  ['listings', 'private'],
  ['media', 'public'],
] as const;
const PAGE = 100;
const STORES_MAX = 1_000;

/**
 * Tells whether the catalog of a store has changed, other than by views and reviews. These change documents, but not the
 * versions of publications, listings and media. When a sale begins or ends, `due_at` of its publication changes.
 */
export class CatalogState {
  /** The generation of a store, and the digest of what was read after it. */
  private readonly known = new LRUCache<StoreId, Known>({ max: STORES_MAX });

  /**
   * Returns a text that changes with the catalog. Reads the keys of all documents if a document of the store has changed since
   * the last call. Undefined if the view store cannot tell. Call it before the catalog is read, which may then be newer.
   */
  async digest(version: DocumentReader, store_id: StoreId): Promise<string | undefined> {
    const generation = (await version.generation?.([store_id])) ?? Number.NaN;
    if (Number.isNaN(generation)) return undefined;
    const known = this.known.get(store_id);
    if (known?.version === version && known.generation === generation) return known.digest;
    const digest = digestOf(version, store_id);
    this.known.set(store_id, { version, generation, digest });
    // The next call tries again.
    digest.catch(() => this.known.delete(store_id));
    return digest;
  }
}

interface Known {
  readonly version: DocumentReader;
  readonly generation: number;
  readonly digest: Promise<string>;
}

interface StateKeys {
  readonly version: number | null;
  readonly due_at?: number | null;
}

const stateOf = ({ version, due_at }: StateKeys): string => `${version} ${due_at}`;

async function digestOf(version: DocumentReader, store_id: StoreId): Promise<string> {
  const hashing = createHash('sha256');
  for (const [collection, visibility] of SOURCES)
    for (let after: readonly [string, string] | undefined; ; ) {
      const where = { store_id, visibility };
      const page = await version.find(collection, {
        where,
        order: ORDER,
        limit: PAGE,
        ...(after && { after }),
      });
      for (const { id, document } of page) hashing.update(`${id} ${stateOf(document!.keys)}\n`);
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      after = [last.document!.keys.created_at!, last.id];
    }
  return hashing.digest('base64url');
}
