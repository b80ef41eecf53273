import type { StoredDocument } from '../../shared/catalog/documents';
import { listingFields } from '../../shared/catalog/listing/fields';
import type { Listing } from '../../shared/catalog/listing/listing';
import type { MediaEmbed } from '../../shared/catalog/media/document';
import { withoutDerivedPrices } from '../../shared/catalog/publication/derived-prices';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { publicationFields } from '../../shared/catalog/publication/fields';
import type { Publication } from '../../shared/catalog/publication/publication';
import { type Variant, variantFields } from '../../shared/catalog/publication/variants';
import { compareTexts } from '../../shared/catalog/sorting';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import { PageSize } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { foldText } from '../../shared/kernel/text';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery } from '../../shared/ports/view-store';

/** The catalog of a store to export. */
export interface Export {
  /** Asked for the active version before each page: a rebuild may replace the version meanwhile. */
  readonly view: Pick<ActiveView, 'current'>;
  readonly store_id: StoreId;
  /** What the paths of pictures are appended to. */
  readonly base_url: string;
}

/** What other items call a listing: its name, and a key if another listing has the same name. */
export type ListingName = string | { readonly name: string; readonly key: string };

export interface ExportedImage {
  readonly url: string;
  readonly alt: string | null;
  readonly media_id: string;
}

export type ExportedVariant = Omit<Variant, 'media_id'> & { readonly image?: string };

/** A publication with names and addresses instead of ids, which mean nothing elsewhere. */
export type ExportedPublication = Omit<
  Publication,
  (typeof PUBLICATION_LINKS)[number] | 'id' | 'store_id' | 'external_id'
> & {
  /** The external id, or the id if there is none: the name by which an import finds the publication. */
  readonly external_id: string;
  readonly listing: ListingName | null;
  readonly other_listings: readonly { readonly listing: ListingName; readonly featured_position?: number }[];
  readonly images: readonly ExportedImage[];
  readonly options: Publication['options'];
  readonly variants: readonly ExportedVariant[];
};

export type ExportItem =
  | { readonly listing: object; readonly publication?: undefined }
  | { readonly publication: ExportedPublication };

/** How many listings or media are read at once. */
const SCANNED_PAGE = 100;
/** How much of each of the four lists is in memory: a publication with 2,048 variants has 500 kB. */
const PAGE_LIMITS = { items_max: 50, length_max: 1_000_000 };
/** The first page has 8 publications, because their size is not known. */
const FIRST_PAGE = [1, PAGE_LIMITS.length_max / 8] as const;

/**
 * Yields the listings by name, then the publications by external id. Only pages of publications and the names of the
 * listings are in memory.
 */
export async function* exportItems(options: Export): AsyncGenerator<ExportItem> {
  const listings = await readListings(options);
  const names = namesOf(listings);
  for (const { parent_id, ...listing } of listings) {
    const parent = names.get(parent_id ?? '') ?? null;
    const name = names.get(listing.id);
    const key = typeof name === 'object' ? { key: name.key } : {};
    yield { listing: { ...pick(listing, listingFields, LISTING_LINKS), ...key, parent } };
  }
  for await (const { name, document } of publicationsByName(options))
    yield { publication: publicationItem(name, document, names, options.base_url) };
}

function namesOf(listings: readonly Listing[]): Map<string, ListingName> {
  const counts = new Map<string, number>();
  // An import does not distinguish more names than this.
  const foldedName = ({ name }: Listing) => foldText(name).replace(/\s+/g, ' ');
  for (const each of listings) counts.set(foldedName(each), (counts.get(foldedName(each)) ?? 0) + 1);
  return new Map(
    listings.map((each): [string, ListingName] => {
      const { id, name } = each;
      return [id, counts.get(foldedName(each)) === 1 ? name : { name, key: keyOf(each) }];
    }),
  );
}

const keyOf = ({ id, handle, external_id }: Listing): string => handle ?? external_id ?? id;

/** Fields that an item has in another form. */
const LISTING_LINKS = ['media_ids', 'parent_id'];
const PUBLICATION_LINKS = [
  ...(['listing_id', 'listing_ids', 'featured_positions'] as const),
  ...(['media_ids', 'options', 'variants'] as const),
] as const;

/** The external id first, by which people find a line. */
const EXPORTED_FIELDS = Object.assign({ external_id: null }, publicationFields);

/** Returns the declared fields, in the order of their declaration. Leaves out a null handle, for which an import makes one. */
function pick<Resource extends object>(
  resource: Resource,
  fields: object,
  excluded: readonly string[],
): Resource {
  const values = resource as Readonly<Record<string, unknown>>;
  const names = Object.keys(fields).filter(
    (name) => !excluded.includes(name) && (name !== 'handle' || values[name] !== null),
  );
  return Object.fromEntries(names.map((name) => [name, values[name]])) as Resource;
}

export async function current({ view }: Pick<Export, 'view'>): Promise<DocumentReader> {
  const version = await view.current();
  if (!version) throw new CatalogError('unavailable');
  return version;
}

/** Returns the listings of a store, by name. */
export async function readListings(options: Export): Promise<Listing[]> {
  const found: Listing[] = [];
  for await (const { document } of scanned(options, 'listings'))
    if (document?.state.listing) found.push(document.state.listing);
  return found.sort((a, b) => compareTexts(a.name, b.name) || compareTexts(keyOf(a), keyOf(b)));
}

/** Yields the documents of a collection that the store has, by id. */
export async function* scanned<Name extends 'listings' | 'media'>(options: Export, collection: Name) {
  const { store_id } = options;
  for (let after_id = ''; ; ) {
    const asked = { where: { store_id }, after_id, limit: SCANNED_PAGE };
    const page = await (await current(options)).scan(collection, asked);
    yield* page;
    if (page.length < SCANNED_PAGE) return;
    after_id = page.at(-1)!.id;
  }
}

/** A publication, and the name by which an import finds it again. */
interface Named {
  readonly name: string;
  readonly document: PublicationDocument;
}

/** Yields the publications by external id, those without one by id. */
export const publicationsByName = (options: Export) => merged(publicationLists(options));

/** Returns lists by name that together have all publications of the store. An index has each of them in this order. */
function publicationLists(options: Export): AsyncGenerator<Named>[] {
  const { store_id } = options;
  return visibilitySchema.options.flatMap((visibility) => [
    named(pages(options, { store_id, visibility }, 'external_id')),
    named(pages(options, { store_id, visibility, external_id: null }, 'id')),
  ]);
}

async function* named(found: AsyncIterable<StoredDocument<PublicationDocument>>): AsyncGenerator<Named> {
  for await (const { id, document } of found)
    if (document) yield { name: document.keys.external_id ?? id, document };
}

/** Yields the documents whose `key` is set, sorted by it. */
function pages(
  options: Export,
  where: ViewQuery['where'],
  key: 'id' | 'external_id',
): AsyncGenerator<StoredDocument<PublicationDocument>> {
  return publicationPages(options, (last) => {
    const after = key === 'id' ? last?.id : last?.document?.keys.external_id;
    return { where: { ...where, [key]: { after: after ?? '' } }, order: [[key, 'asc']] };
  });
}

/**
 * Yields the documents of a query that `queryAfter` returns: for the first page without a document, for the next ones with
 * the last document of the page before.
 */
export async function* publicationPages(
  options: Export,
  queryAfter: (last?: StoredDocument<PublicationDocument>) => Omit<ViewQuery, 'limit' | 'parts'>,
): AsyncGenerator<StoredDocument<PublicationDocument>> {
  const size = new PageSize(PAGE_LIMITS);
  size.report(...FIRST_PAGE);
  for (let last: StoredDocument<PublicationDocument> | undefined; ; ) {
    const limit = size.items;
    const query: ViewQuery = { ...queryAfter(last), limit, parts: ['state', 'expansions'] };
    const page = await (await current(options)).find('publications', query);
    size.report(
      page.length,
      page.reduce((sum, { document }) => sum + lengthOf(document), 0),
    );
    yield* page;
    last = page.at(-1);
    if (!last || page.length < limit) return;
  }
}

/** Returns about how many characters a publication has. */
function lengthOf(document: PublicationDocument | null): number {
  const publication = document?.state.publication;
  if (!publication) return 0;
  const { description, description_html, variants } = publication as Publication;
  return 2_000 + description.length + (description_html?.length ?? 0) + 300 * variants.length;
}

/** Merges lists that are sorted by name. */
async function* merged(lists: readonly AsyncGenerator<Named>[]): AsyncGenerator<Named> {
  const heads = await Promise.all(lists.map(async (list) => ({ list, head: await list.next() })));
  for (;;) {
    const left = heads.filter(({ head }) => !head.done);
    if (left.length === 0) return;
    const first = left.reduce((a, b) => (compareTexts(a.head.value.name, b.head.value.name) <= 0 ? a : b));
    yield first.head.value;
    first.head = await first.list.next();
  }
}

function publicationItem(
  external_id: string,
  { keys, state, expansions }: PublicationDocument,
  listings: ReadonlyMap<string, ListingName>,
  base_url: string,
): ExportedPublication {
  const publication = withoutDerivedPrices(state.publication as Publication);
  const { options, variants, listing_ids, featured_positions } = publication;
  const others = listing_ids.flatMap((id) => {
    const listing = listings.get(id);
    const position = featured_positions[id];
    return listing ? [{ listing, ...(position !== undefined && { featured_position: position }) }] : [];
  });
  const images = expansions.media.flatMap((media) => imageOf(media, base_url));
  return {
    ...pick({ ...publication, external_id }, EXPORTED_FIELDS, PUBLICATION_LINKS),
    listing: listings.get(keys.listing_id ?? '') ?? null,
    other_listings: others,
    images,
    options,
    variants: variants.map((variant) => variantOf(variant, images)),
  };
}

/** Returns nothing for a picture that is not ready. */
export function imageOf({ id, body: { url, alt } }: MediaEmbed, base_url: string): ExportedImage[] {
  const text = typeof alt === 'string' ? alt : null;
  return typeof url === 'string' ? [{ url: new URL(url, base_url).href, alt: text, media_id: id }] : [];
}

function variantOf(variant: Variant, images: readonly ExportedImage[]): ExportedVariant {
  const image = images.find(({ media_id }) => media_id === variant.media_id);
  return { ...pick(variant, variantFields, ['media_id']), ...(image && { image: image.url }) };
}
