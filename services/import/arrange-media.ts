import { PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import type { MediaId } from '../../shared/kernel/ids';

/**
 * What a publication shows after an import: the file's images in the file's order, unless it shows others as well, which
 * somebody has put there: then what it shows stays in its order, and the file's that are missing come after.
 */
export function arrangeMedia(shown: readonly MediaId[], of_file: readonly MediaId[]): MediaId[] {
  const only_ours = shown.every((id) => of_file.includes(id));
  const next = only_ours ? of_file : [...shown, ...of_file.filter((id) => !shown.includes(id))];
  return next.slice(0, PUBLICATION_MEDIA_MAX);
}
