import { ENVIRONMENTS } from '../../shared/contracts/realm';
import type { MediaId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import type { MediaTasks } from '../../shared/ports/media-tasks';
import type { Runtime } from '../runtime';

const PAGE = 200;

/**
 * Adds a task for media that are still `processing` `older_than_ms` after they were uploaded: the queue may lose what it
 * holds, and an upload may end between its event and its task. Gives how many. Doing it for nothing costs a look at
 * the media's stream.
 */
export async function recoverTasks(
  { views, system }: Pick<Runtime, 'views' | 'system'>,
  tasks: Pick<MediaTasks, 'add'>,
  older_than_ms: number,
): Promise<number> {
  const before = timestamp(system.now() - older_than_ms);
  let added = 0;
  for (const environment of ENVIRONMENTS) {
    const view = await views[environment].current();
    for (let after: { after_id?: string } | undefined = {}; view && after; ) {
      const where = { status: 'processing' };
      const page = await view.scan('media', { where, ...after, limit: PAGE });
      for (const { id, document } of page) {
        if (String(document?.keys.created_at) > before) continue;
        await tasks.add({ environment, media_id: id as MediaId });
        added++;
      }
      after = page.length < PAGE ? undefined : { after_id: page.at(-1)!.id };
    }
  }
  return added;
}
