import type { MediaId } from '../../shared/kernel/ids';
import type { ActiveView } from '../../shared/ports/active-view';

const PAGE = 500;

/**
 * The media of one environment whose pictures are still to be made, by id, as the documents have them: what was
 * uploaded in the last moments may be missing. Nothing where nothing was projected yet.
 */
export async function* processingMedia(view: ActiveView): AsyncGenerator<MediaId> {
  const version = await view.current();
  if (!version) return;
  for (let after_id: string | undefined; ; ) {
    const page = { limit: PAGE, ...(after_id === undefined ? {} : { after_id }) };
    const found = await version.scan('media', { where: { status: 'processing' }, ...page });
    for (const { id } of found) yield id as MediaId;
    after_id = found.at(-1)?.id;
    if (found.length < PAGE) return;
  }
}
