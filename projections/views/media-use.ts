import type { MediaUseDocument, MediaUser } from '../../shared/catalog/media/use-document';

export const useId = (media_id: string, user_id: string): string => `${media_id}.${user_id}`;
export const mediaOfUse = (use_id: string): string => use_id.slice(0, use_id.indexOf('.'));

/**
 * That a publication or listing refers to a media: by these, what shows a media is found when it changes. A
 * document of its own for each, for the same picture may be on any number of publications.
 */
export function mediaUse(store_id: string | null, media_id: string, used_by: MediaUser): MediaUseDocument {
  return { keys: { store_id, media_id }, body: {}, state: { used_by }, expansions: {} };
}
