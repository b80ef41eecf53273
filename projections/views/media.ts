import { stateOf } from '../../shared/catalog/events/aggregate';
import {
  type MediaDocument,
  type MediaEmbed,
  type MediaUses,
  mediaKeys,
  useKeys,
} from '../../shared/catalog/media/document';
import { type MediaEvent, mediaAggregate, mediaResource } from '../../shared/catalog/media/media';
import type { Environment } from '../../shared/catalog/realm';
import type { MediaId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

const UNUSED: MediaUses = { public: 0, private: 0 };

/** Documents of media. The URLs of a document contain the stream's environment. */
export const mediaView: View<MediaDocument, MediaEvent> = {
  collection: 'media',
  category: 'media',
  aggregate: 'media',
  fold: (before, event, { id, realm, revision, occurred_at }: EventContext<MediaId>) => {
    const after = mediaAggregate.evolve(stateOf(before?.state.media), event, id, occurred_at);
    if (after.tag === 'deleted') return null;
    if (after.tag !== 'present') return before;
    const media = after.resource;
    const uses = before?.state.uses ?? UNUSED;
    return {
      keys: mediaKeys(media, uses),
      body: mediaResource(media, realm as Environment),
      state: { media, uses, revision },
      expansions: {},
    };
  },
  derive: (document) => {
    const { keys } = document;
    const { visibility, in_use } = useKeys(document.state.uses);
    if (keys.visibility === visibility && keys.in_use === in_use) return document;
    return { ...document, keys: { ...keys, visibility, in_use } };
  },
};

/** Returns the copy of the media that publications and listings embed. */
export function embedMedia({ state, body }: MediaDocument): MediaEmbed {
  const { id, version } = state.media;
  return { id, version, body };
}
