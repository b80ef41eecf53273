import { newListingBody } from '../../shared/api/requests/writes';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { ListingId } from '../../shared/kernel/ids';
import type { NewListing } from '../command/listing';
import { listingIdOf, listingKey, type StoreIdentity } from './identity';
import type { Fields } from './item';
import type { Tally } from './report';
import type { CatalogWriter } from './writer';

/** A listing of the store with that name which no import has made; asked where an import would make one. */
export type FindListing = (name: string) => Promise<ListingId | undefined>;

/** The listings that an import names: each is looked for or made once, however many rows name it at the same time. */
export class Listings {
  private readonly resolved = new Map<string, Promise<ListingId>>();

  constructor(
    private readonly store: StoreIdentity,
    private readonly writer: CatalogWriter,
    private readonly findListing: FindListing,
    private readonly tally: Tally,
  ) {}

  /** The listing of that name; made, with nothing but the name, where there is none. */
  named(name: string): Promise<ListingId> {
    return this.once(name, async () => {
      const found = await this.find(name);
      if (!found.present) await this.put(found.id, { name });
      else this.tally.count('listings', 'unchanged');
      return found.id;
    });
  }

  /** A row that describes a listing. One after a row that named it adds to it. */
  async describe(fields: Fields & { name: string }): Promise<void> {
    const earlier = this.resolved.get(listingKey(fields.name));
    if (earlier) {
      await this.put(await earlier, fields, 'again');
      return;
    }
    await this.once(fields.name, async () => {
      const { id } = await this.find(fields.name);
      await this.put(id, fields);
      return id;
    });
  }

  /** A failure is not kept: it is the row's, and the next row may name it rightly. */
  private once(name: string, resolve: () => Promise<ListingId>): Promise<ListingId> {
    const key = listingKey(name);
    const known = this.resolved.get(key);
    if (known) return known;
    const resolving = resolve();
    this.resolved.set(key, resolving);
    resolving.catch(() => this.resolved.delete(key));
    return resolving;
  }

  /** The first generation that was not deleted; where that is not there yet, a listing that goes by the same name. */
  private async find(name: string): Promise<{ id: ListingId; present: boolean }> {
    for (let generation = 1; ; generation++) {
      const id = listingIdOf(this.store, name, generation);
      const presence = await this.writer.listing(id);
      if (presence === 'present') return { id, present: true };
      if (presence === 'deleted') continue;
      const other = await this.findListing(name);
      const usable = other !== undefined && (await this.writer.listing(other)) === 'present';
      return usable ? { id: other, present: true } : { id, present: false };
    }
  }

  private async put(id: ListingId, fields: Fields, times: 'first' | 'again' = 'first'): Promise<void> {
    const outcome = await this.writer.putListing(id, newListing(fields));
    if (outcome === 'deleted')
      throw new CatalogError('lost_race', { message: 'the listing was deleted meanwhile' });
    if (times === 'first' || outcome !== 'unchanged') this.tally.count('listings', outcome);
  }
}

/** Its faults are told as the row's, in which the listing is a part. */
function newListing(fields: Fields): NewListing {
  try {
    return parseBody(newListingBody, fields);
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    throw CatalogError.ofFaults(error.faults.map((fault) => ({ ...fault, field: `listing.${fault.field}` })));
  }
}
