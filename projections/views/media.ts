import { type MediaDocument, type MediaEmbed, mediaKeys } from '../../shared/catalog/media/document';
import {
  evolveMedia,
  type MediaEvent,
  type MediaState,
  mediaResource,
} from '../../shared/catalog/media/media';
import type { Environment } from '../../shared/catalog/realm';
import { orderOf } from '../../shared/catalog/sorting';
import type { MediaId } from '../../shared/kernel/ids';
import type { Known, Occasion } from './view';

/** The order of a store's media: newest first. */
export const MEDIA_ORDER = orderOf('created_at_desc');

/** One event of the media's own stream; its addresses lie in `environment`. Null where it is deleted. */
export function foldMedia(
  before: Known<MediaDocument>,
  event: MediaEvent,
  { id, revision, at }: Occasion<MediaId>,
  environment: Environment,
): Known<MediaDocument> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const state: MediaState = before ? { tag: 'present', media: before.state.media } : { tag: 'absent' };
  const after = evolveMedia(state, event, id, at);
  if (after.tag === 'deleted') return null;
  if (after.tag === 'absent') return before;
  const { media } = after;
  return {
    keys: mediaKeys(media),
    body: mediaResource(media, environment),
    state: { media, revision },
    expansions: {},
  };
}

/** What a resource of this store shows of it; nothing of another store's. */
export function embedMedia(view: Known<MediaDocument>, store_id: string): MediaEmbed | null {
  if (!view || view.keys.store_id !== store_id) return null;
  const { id, version } = view.state.media;
  return { id, version, body: view.body };
}

/**
 * The embeds after `media_id` came, changed, or went (null), in the order of `media_ids`. Gives the same list back
 * where it is not referred to, or nothing is new.
 */
export function withEmbed(
  embeds: readonly MediaEmbed[],
  media_ids: readonly string[],
  media_id: string,
  after: MediaEmbed | null,
): readonly MediaEmbed[] {
  if (!media_ids.includes(media_id)) return embeds;
  const known = embeds.find(({ id }) => id === media_id);
  if (!after) return known ? embeds.filter((embed) => embed !== known) : embeds;
  if (known && known.version >= after.version) return embeds;
  return media_ids.flatMap((id) => (id === media_id ? [after] : embeds.filter((embed) => embed.id === id)));
}
