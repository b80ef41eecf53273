import { OTHER_LISTINGS_MAX } from '../../shared/catalog/publication/fields';
import { listingKey } from './identity';
import type { ListingItem, ListingName, OtherListing } from './item';

/** The names of a listing and of those above it, the topmost first. */
export type CategoryPath = readonly string[];

/** Where a product is, and the listings that have to be written before it. */
interface Placed {
  readonly listings: readonly ListingItem[];
  readonly listing: ListingName | null;
  readonly other_listings: readonly OtherListing[];
}

/**
 * The categories of a file as a tree of listings. A listing is found by its name. Only if listings at several places have
 * one name, those below others have a key, which is their path.
 */
export class CategoryTree {
  /** The places at which a name is. */
  private readonly places = new Map<string, Set<string>>();
  private readonly written = new Set<string>();

  /** Adds the categories of a product. Called with those of all products before `place`. */
  note(paths: readonly CategoryPath[]): void {
    for (const path of paths)
      for (const [depth, name] of path.entries()) {
        const places = this.places.get(listingKey(name)) ?? new Set();
        places.add(placeOf(path.slice(0, depth + 1)));
        this.places.set(listingKey(name), places);
      }
  }

  /** Returns the listings of a product. The first one is its main listing. Listings below others are written once. */
  place(paths: readonly CategoryPath[], line: number, warn: (reason: string) => void): Placed {
    const listings = paths.flatMap((path) => path.flatMap((_, depth) => this.write(path, depth, line)));
    const [listing = null, ...others] = paths.map((path) => this.nameOf(path));
    if (others.length > OTHER_LISTINGS_MAX)
      warn(`a product has at most ${OTHER_LISTINGS_MAX + 1} categories: the others were left out`);
    const other_listings = others.slice(0, OTHER_LISTINGS_MAX).map((other) => ({ listing: other }));
    return { listings, listing, other_listings };
  }

  private write(path: CategoryPath, depth: number, line: number): ListingItem[] {
    const [parent, own] = [path.slice(0, depth), path.slice(0, depth + 1)];
    if (depth === 0 || this.written.has(placeOf(own))) return [];
    this.written.add(placeOf(own));
    const { name, key } = this.keyed(own);
    const named = key === undefined ? { fields: { name } } : { fields: { name, external_id: key }, key };
    return [{ kind: 'listing', line, ...named, parent: this.nameOf(parent) }];
  }

  private nameOf(path: CategoryPath): ListingName {
    const { name, key } = this.keyed(path);
    return key === undefined ? name : { name, key };
  }

  private keyed(path: CategoryPath): { readonly name: string; readonly key?: string } {
    const name = path.at(-1)!;
    const is_alone = path.length === 1 || this.places.get(listingKey(name))?.size === 1;
    return is_alone ? { name } : { name, key: path.join(' > ') };
  }
}

const placeOf = (path: CategoryPath): string => path.map((name) => listingKey(name)).join('\n');

/** Returns the names of a path such as `Clothing > Shirts`. */
export const pathIn = (text: string): CategoryPath =>
  text
    .split('>')
    .map((name) => name.replace(/\s+/g, ' ').trim())
    .filter((name) => name !== '');
