import { useQueryClient } from '@tanstack/react-query';
import type { Listing } from 'catalog-client';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { LISTINGS_KEY, type ListingNode, withDescendants } from '../../lib/listings';
import { useTexts } from '../../texts/texts';
import { say, sayFailed } from '../../ui/feedback';

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
      sayFailed(messageOf(error, t));
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

  /** Deletes the listing and the listings below it. Their products stay. */
  async function remove(node: ListingNode): Promise<boolean> {
    const ids = withDescendants(node).map(({ id }) => id);
    const is_done = await tryTo(
      (all) => all.filter(({ id }) => !ids.includes(id)),
      async () => {
        for (const id of ids.toReversed()) await client.listings.delete(id);
      },
    );
    const restore = () =>
      tryTo(
        (all) => all,
        async () => {
          for (const id of ids) await client.listings.restore(id);
        },
      );
    if (is_done) say(t.listings.deleted(node.listing.name, ids.length - 1), restore);
    return is_done;
  }

  /** Restores a listing. The listings that contain it are restored first, if they are among the deleted ones. */
  async function restore(listing: Listing, deleted: readonly Listing[]): Promise<void> {
    const ids: string[] = [];
    for (let each: Listing | undefined = listing; each; ) {
      ids.unshift(each.id);
      const { parent_id }: Listing = each;
      each = deleted.find(({ id }) => id === parent_id);
    }
    const is_done = await tryTo(
      (all) => all,
      async () => {
        for (const id of ids) await client.listings.restore(id);
      },
    );
    if (is_done) say(t.listings.restored(listing.name));
  }

  return { rename, move, remove, restore };
}
