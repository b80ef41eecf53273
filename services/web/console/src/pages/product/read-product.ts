import type { CatalogClient, Variant } from 'catalog-client';
import { fieldsOf, type Product } from './fields';

/** The maximum of the interface. */
const PAGE_LENGTH = 50;
/** How many pages are requested at the same time. */
const PARALLEL_MAX = 6;

const readPublication = (client: CatalogClient, id: string, cached: Product['publication']) =>
  client.publications.get(
    id,
    { visibility: 'all', expand: ['media', 'variants'] },
    // It came from the same call.
    cached ? { cached: cached as never } : {},
  );

/**
 * Reads a product with all its variants and media. Returns `previous` itself if it has not changed. The publication is read
 * first: if somebody writes meanwhile, its version is the older one, and a save that is based on it is refused.
 */
export async function readProduct(client: CatalogClient, id: string, previous?: Product): Promise<Product> {
  const publication = await readPublication(client, id, previous?.publication);
  if (previous && publication === previous.publication) return previous;
  const { media, variants } = publication;
  const all_media = media?.has_more
    ? await client.media.list({ publication_id: id, visibility: 'all' }).all()
    : (media?.data ?? []);
  const all_variants = variants?.has_more
    ? await readVariants(client, id, variants.total_count)
    : (variants?.data ?? []);
  return {
    publication,
    etag: client.answerOf(publication)?.etag,
    variants: all_variants,
    media: all_media,
    fields: fieldsOf(publication, all_variants, all_media),
  };
}

async function readVariants(client: CatalogClient, id: string, count: number): Promise<Variant[]> {
  const pages = client.publications.variants(id, { visibility: 'all', limit: PAGE_LENGTH });
  const numbers = Array.from({ length: Math.ceil(count / PAGE_LENGTH) }, (_, index) => index + 1);
  const read: Variant[][] = [];
  const readNext = async (): Promise<void> => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift())
      read[number - 1] = (await pages.page(number)).data;
  };
  await Promise.all(Array.from({ length: PARALLEL_MAX }, readNext));
  return read.flat();
}
