import { newListingBody } from '../../shared/api/requests/writes';
import { listingsBelow } from '../../shared/catalog/listing/tree';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { ListingId } from '../../shared/kernel/ids';
import type { NewListing } from '../command/listing';
import { findUsable, listingIdOf, listingKey, partsOfName, type StoreIdentity } from './identity';
import type { Fields, ListingItem, ListingName } from './item';
import type { FieldEffects } from './manual-changes';
import type { Tally } from './report';
import type { CatalogWriter } from './writer';

/** Finds a listing with this name, and with the key if there is one, that the merchant created. Called before an import creates a listing. */
export type FindListing = (listing: ListingName) => Promise<ListingId | undefined>;

/** Finds the listings directly below these, as they were before the import. */
export type FindChildren = (parent_ids: readonly string[]) => Promise<readonly { readonly id: string }[]>;

/** The listings that an import refers to. Finds or creates each listing once, even if many rows name it concurrently. */
export class Listings {
  private readonly resolved = new Map<string, Promise<ListingId>>();
  /** The listings that this import has placed in the tree, each with the listing above it. */
  private readonly placed = new Map<string, string | null>();
  /** Ends when the last place so far is written, so that the check of the levels of the next one sees it. */
  private placing: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: StoreIdentity,
    private readonly writer: CatalogWriter,
    private readonly findListing: FindListing,
    private readonly tally: Tally,
    private readonly findChildren: FindChildren = async () => [],
  ) {}

  /** Returns the listing with this name. Creates it, with only the name, if it does not exist. */
  findOrCreate(listing: ListingName): Promise<ListingId> {
    return this.resolveOnce(listing, async () => {
      const found = await this.find(listing);
      const { name } = partsOfName(listing);
      if (!found.is_present) await this.put(found.id, { name });
      else this.tally.count('listings', 'unchanged');
      return found.id;
    });
  }

  /** Writes the listing of a row. If an earlier row of the file has used the same name and key, updates that listing. */
  async write(item: ListingItem, name: string): Promise<void> {
    const { parent, key } = item;
    const listing = key === undefined ? name : { name, key };
    // Validates the row before the listing above is created, so that a rejected row leaves no empty listing.
    await inRow(() => parseBody(newListingBody, item.fields));
    const parent_id = parent ? await this.findOrCreate(parent) : parent;
    const fields = { ...item.fields, ...(parent_id !== undefined && { parent_id }) };
    const earlier = this.resolved.get(listingKey(listing));
    if (earlier) {
      this.tally.addEffects(item, await this.put(await earlier, fields, 'repeated'));
      return;
    }
    await this.resolveOnce(listing, async () => {
      const { id } = await this.find(listing);
      this.tally.addEffects(item, await this.put(id, fields));
      return id;
    });
  }

  /** Calls `resolve` once per name. Does not cache a failure, because only the row that caused it fails. */
  private resolveOnce(listing: ListingName, resolve: () => Promise<ListingId>): Promise<ListingId> {
    const key = listingKey(listing);
    const earlier = this.resolved.get(key);
    if (earlier) return earlier;
    const resolving = resolve();
    this.resolved.set(key, resolving);
    resolving.catch(() => this.resolved.delete(key));
    return resolving;
  }

  /**
   * Returns the listing for a name: the one that an import has created, or else one that the merchant has created with
   * this name. Without either, returns the id for a new listing (the first generation that is not deleted).
   */
  private async find(
    listing: ListingName,
  ): Promise<{ readonly id: ListingId; readonly is_present: boolean }> {
    const { store, writer } = this;
    const usable = await findUsable((generation) => listingIdOf(store, listing, generation), writer.listing);
    if (usable.is_present) return usable;
    const id = await this.findListing(listing);
    const is_usable = id !== undefined && (await writer.listing(id)) === 'present';
    return is_usable ? { id, is_present: true } : usable;
  }

  /** Creates or updates a listing. Counts it once: a repeated mention only counts if it changes the listing. */
  private async put(
    id: ListingId,
    fields: Fields,
    mention: 'first' | 'repeated' = 'first',
  ): Promise<FieldEffects> {
    const { outcome, overwritten, kept } = await inRow(() =>
      this.place(id, parseBody(newListingBody, fields)),
    );
    if (outcome === 'deleted')
      throw new CatalogError('lost_race', { message: 'the listing was deleted during the import' });
    if (mention === 'first' || outcome !== 'unchanged') this.tally.count('listings', outcome);
    return { overwritten, kept };
  }

  /** Writes the listing. If that can change its place in the tree, waits for the listings that are being placed. */
  private place(id: ListingId, input: NewListing): Promise<PutListing> {
    const countLevelsBelow = async (): Promise<number> =>
      (await listingsBelow(id, (ids) => this.childrenOf(ids))).length;
    const write = (): Promise<PutListing> => this.writer.putListing(id, input, countLevelsBelow);
    if (input.parent_id === undefined) return write();
    const placing = this.placing.then(async () => {
      const written = await write();
      this.placed.set(id, written.parent_id);
      return written;
    });
    this.placing = placing.catch(() => undefined);
    return placing;
  }

  private async childrenOf(parent_ids: readonly string[]): Promise<readonly { readonly id: string }[]> {
    const earlier = await this.findChildren(parent_ids);
    const placed = [...this.placed].filter(([, parent_id]) => parent_ids.some((id) => id === parent_id));
    return [...earlier.filter(({ id }) => !this.placed.has(id)), ...placed.map(([id]) => ({ id }))];
  }
}

type PutListing = Awaited<ReturnType<CatalogWriter['putListing']>>;

/** Calls `work`. Names the fields of its faults as the row does, which contains the listing as an object. */
async function inRow<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CatalogError) || error.faults.length === 0) throw error;
    const nameOf = (field: string): string => `listing.${field === 'parent_id' ? 'parent' : field}`;
    throw CatalogError.ofFaults(error.faults.map((fault) => ({ ...fault, field: nameOf(fault.field) })));
  }
}
