import type { Key } from '../../shared/catalog/documents';
import type { View } from './view';

/** What can refer to media. */
export type UserCollection = 'publications' | 'listings';

/**
 * That a publication or listing refers to a media: by these, what shows a media is found when it changes. A
 * document of its own for each, for the same picture may be on any number of publications.
 */
export interface MediaUse {
  readonly collection: UserCollection;
  readonly id: string;
}

export type MediaUseView = View<{ readonly used_by: MediaUse }, Record<never, never>>;

export const useId = (media_id: string, user_id: string): string => `${media_id}.${user_id}`;
export const mediaOfUse = (use_id: string): string => use_id.slice(0, use_id.indexOf('.'));

/** `store_id`: of the user. Only to media of its own store does it show anything of them. */
export function mediaUse(store_id: Key, media_id: string, used_by: MediaUse): MediaUseView {
  return { keys: { store_id, media_id }, body: {}, state: { used_by }, expansions: {} };
}
