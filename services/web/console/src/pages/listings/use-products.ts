import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Publication, PublicationPatch } from 'catalog-client';
import { useRef } from 'react';
import { useApi } from '../../lib/api';
import { useTexts } from '../../texts/texts';
import { say, sayError } from '../../ui/feedback';

/** Returns the featured products of a listing (undefined until they are read), and functions that change their order. */
export function useFeatured(listing_id: string) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const key = ['publications', 'featured', listing_id];
  const {
    data: featured,
    error,
    refetch,
  } = useQuery({
    queryKey: key,
    queryFn: () =>
      client.listings
        .publications(listing_id, { featured: true, visibility: 'all', expand: ['media'] })
        .all(),
  });

  /** Shows the order at once, and sends it after those before it. */
  async function arrange(products: readonly Publication[]): Promise<void> {
    const before = queries.getQueryData<Publication[]>(key) ?? [];
    await queries.cancelQueries({ queryKey: key });
    queries.setQueryData(key, products);
    const ids = products.map(({ id }) => id);
    const sent = last.current.then(() => client.listings.arrangeFeatured(listing_id, ids));
    const own = sent.catch(() => {});
    last.current = own;
    try {
      await sent;
      say(t.listings.featuredChanged, () => arrange(before), 'featured');
    } catch (error) {
      sayError(error, t);
    }
    if (last.current === own) await queries.invalidateQueries({ queryKey: ['publications'] });
  }

  return { featured, error, refetch, arrange };
}

/** Adds products to a listing and removes them, with an undo. */
export function useMembership(listing_id: string) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();

  async function write({ id }: Publication, patch: PublicationPatch): Promise<void> {
    await client.publications.update(id, patch);
    for (const queryKey of [['publications'], ['listings']]) void queries.invalidateQueries({ queryKey });
  }

  async function change(product: Publication, patch: PublicationPatch, text: string): Promise<void> {
    const { listing_id = null, listing_ids = null } = product;
    const { featured_position = null, featured_positions = null } = product;
    const before = { listing_id, listing_ids, featured_position, featured_positions };
    try {
      await write(product, patch);
      say(text, () => write(product, before));
    } catch (error) {
      sayError(error, t);
    }
  }

  return {
    /** The listing becomes the main one of a product that has none. */
    add: (product: Publication) =>
      change(
        product,
        product.listing_id ? { listing_ids: [...(product.listing_ids ?? []), listing_id] } : { listing_id },
        t.listings.productAdded(product.title),
      ),
    remove: (product: Publication) =>
      change(
        product,
        product.listing_id === listing_id
          ? { listing_id: null }
          : { listing_ids: product.listing_ids?.filter((id) => id !== listing_id) ?? null },
        t.listings.productRemoved(product.title),
      ),
  };
}
