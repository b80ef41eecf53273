import { useQueryClient } from '@tanstack/react-query';
import type { Listing } from 'catalog-client';
import { useApi } from '../../lib/api';
import { LISTINGS_KEY, type ListingNode, withDescendants } from '../../lib/listings';
import { useTexts } from '../../texts/texts';
import { say, sayError } from '../../ui/feedback';

/** Changes of the tree. Each shows at once what it does, and says it with an undo. */
export function useListingActions() {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();

  /** Shows the new listings while the request runs. If it fails, says why. Returns whether it succeeded. */
  async function tryTo(
    show: (all: Listing[]) => Listing[],
    request: () => Promise<unknown>,
  ): Promise<boolean> {
    await queries.cancelQueries({ queryKey: LISTINGS_KEY });
    queries.setQueryData<Listing[]>(LISTINGS_KEY, (all) => all && show(all));
    try {
      await request();
      return true;
    } catch (error) {
      sayError(error, t);
      return false;
    } finally {
      void queries.invalidateQueries({ queryKey: ['listings'] });
    }
  }

  const change = ({ id }: ListingNode, shown: Partial<Listing>, request: () => Promise<unknown>) =>
    tryTo((all) => all.map((each) => (each.id === id ? { ...each, ...shown } : each)), request);

  async function rename(node: ListingNode, name: string): Promise<void> {
    const before = node.listing.name;
    if (name === '' || name === before) return;
    const to = (next: string) =>
      change(node, { name: next }, () => client.listings.update(node.id, { name: next }));
    if (await to(name)) say(t.listings.renamed(name), () => to(before));
  }

  async function move(node: ListingNode, parent: ListingNode | undefined): Promise<void> {
    const before = node.listing.parent_id;
    if (before === parent?.id) return;
    const to = (parent_id: string | undefined) =>
      change(node, { parent_id }, () => client.listings.update(node.id, { parent_id: parent_id ?? null }));
    if (await to(parent?.id))
      say(t.listings.moved(node.listing.name, parent?.listing.name), () => to(before));
  }

  /** Deletes the listing and the listings below it, the lowest first. Their products stay. */
  async function remove(node: ListingNode): Promise<boolean> {
    const ids = withDescendants(node).map(({ id }) => id);
    const deleted: string[] = [];
    const is_done = await tryTo(
      (all) => all.filter(({ id }) => !ids.includes(id)),
      async () => {
        for (const id of ids.toReversed()) {
          await client.listings.delete(id);
          deleted.unshift(id);
        }
      },
    );
    const below = ids.length - 1;
    sayDeleted(is_done ? t.listings.deleted(node.listing.name, below) : undefined, deleted);
    return is_done;
  }

  /** `ids` are the deleted listings, a parent before those below it. If the undo fails, the others can still be restored. */
  function sayDeleted(text: string | undefined, ids: readonly string[]): void {
    if (ids.length > 0)
      say(text ?? t.listings.deletedCount(ids.length), async () =>
        sayDeleted(undefined, await restoreAll(ids)),
      );
  }

  /** Restores listings, a parent before those below it. Returns the listings that are still deleted because one failed. */
  async function restoreAll(ids: readonly string[]): Promise<readonly string[]> {
    const left = [...ids];
    await tryTo(
      (all) => all,
      async () => {
        for (const id of ids) {
          await client.listings.restore(id);
          left.shift();
        }
      },
    );
    return left;
  }

  /** Restores a listing. The listings that contain it are restored first, if they are among the deleted ones. */
  async function restore(listing: Listing, deleted: readonly Listing[]): Promise<void> {
    const ids: string[] = [];
    for (let each: Listing | undefined = listing; each; ) {
      ids.unshift(each.id);
      const { parent_id }: Listing = each;
      each = deleted.find(({ id }) => id === parent_id);
    }
    const left = await restoreAll(ids);
    if (left.length === 0) say(t.listings.restored(listing.name));
  }

  return { rename, move, remove, restore };
}
