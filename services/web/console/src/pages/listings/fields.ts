import type { Listing, ListingPatch } from 'catalog-client';
import { type TranslatedTexts, textsOf, withPatch } from '../../lib/translations';

/** What the editor of a listing shows. */
export interface Fields extends TranslatedTexts {
  readonly name: string;
  readonly description: string | null;
  readonly media_ids: readonly string[];
  readonly visibility: Listing['visibility'];
  readonly publish_at: string | null;
  readonly unpublish_at: string | null;
  readonly parent_id: string | null;
  readonly default_sort_mode: Listing['default_sort_mode'];
  readonly handle: string | null;
  readonly external_id: string | null;
  readonly seo_title: string | null;
  readonly seo_description: string | null;
}

/** The fields of a listing, or of a new one. */
export const fieldsOf = (listing: Listing | undefined, parent_id: string | null): Fields => ({
  name: listing?.name ?? '',
  description: listing?.description ?? null,
  media_ids: listing?.media_ids ?? [],
  visibility: listing?.visibility ?? 'public',
  publish_at: listing?.publish_at ?? null,
  unpublish_at: listing?.unpublish_at ?? null,
  parent_id: listing?.parent_id ?? parent_id,
  default_sort_mode: listing?.default_sort_mode ?? 'created_at_desc',
  handle: listing?.handle ?? null,
  external_id: listing?.external_id ?? null,
  seo_title: listing?.seo?.title ?? null,
  seo_description: listing?.seo?.description ?? null,
  ...textsOf(listing?.translations),
});

/** Returns the body that changes these fields. The texts for search engines are written together. */
export function patchOf(changed: Partial<Fields>, values: Fields): ListingPatch {
  const { seo_title, seo_description, ...others } = withPatch(changed);
  const is_seo_changed = seo_title !== undefined || seo_description !== undefined;
  const seo = {
    ...(values.seo_title && { title: values.seo_title }),
    ...(values.seo_description && { description: values.seo_description }),
  };
  return { ...others, ...(is_seo_changed && { seo: Object.keys(seo).length > 0 ? seo : null }) };
}
