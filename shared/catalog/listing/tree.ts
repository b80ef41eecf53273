/** Maximum number of levels in a tree of listings. */
export const LISTING_LEVELS_MAX = 6;

/** How many listings of one level below another are looked at. */
export const LISTINGS_BELOW_MAX = 10_000;

/** A listing with its parent in the tree. */
interface Placed {
  readonly id: string;
  /** Null for a listing at the top. The listing with this id may be deleted. */
  readonly parent_id: string | null;
}

/**
 * Returns the listings above one, the nearest first, until `find` returns undefined. Two moves at the same time can make
 * a circle or a tree with too many levels, because each move reads the tree before the other one is stored. So the
 * result ends before a listing that it already has, and has at most `LISTING_LEVELS_MAX` listings.
 */
export async function listingsAbove<Listing extends Placed>(
  { id, parent_id }: Placed,
  find: (id: string) => Promise<Listing | undefined>,
): Promise<Listing[]> {
  const above: Listing[] = [];
  const seen = new Set([id]);
  for (let next = parent_id; next !== null && !seen.has(next) && above.length < LISTING_LEVELS_MAX; ) {
    seen.add(next);
    const found = await find(next);
    if (!found) break;
    above.push(found);
    next = found.parent_id;
  }
  return above;
}

/**
 * Returns the listings below one, level by level: first its children, then theirs. `findChildren` returns the children of
 * all these listings. Visits a listing of a circle once.
 */
export async function listingsBelow<Listing extends Pick<Placed, 'id'>>(
  id: string,
  findChildren: (parent_ids: readonly string[]) => Promise<readonly Listing[]>,
): Promise<Listing[][]> {
  const levels: Listing[][] = [];
  const seen = new Set([id]);
  for (let parents = [id]; parents.length > 0 && levels.length < LISTING_LEVELS_MAX; ) {
    const level = (await findChildren(parents)).filter((child) => !seen.has(child.id));
    if (level.length > 0) levels.push(level);
    parents = level.map((child) => child.id);
    for (const child of parents) seen.add(child);
  }
  return levels;
}
