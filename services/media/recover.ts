import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import type { MediaId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import type { Runtime } from '../boot/runtime';

/** Of each environment in a round: enough for a worker until the next one, whatever waits. */
const ROUND = 200;

/**
 * Adds tasks for media that are still `processing`: the queue may lose what it holds, and an upload may end between its
 * event and its task. Doing so for nothing costs a look at the media's stream.
 */
export class LostTasks {
  private readonly parts: Pick<Runtime, 'views' | 'system' | 'mediaTasks'>;
  /** Where the next round goes on, so that media which can never be made hold up no others. */
  private readonly reached = new Map<Environment, string>();

  constructor(parts: Pick<Runtime, 'views' | 'system' | 'mediaTasks'>) {
    this.parts = parts;
  }

  /** Looks at some of those that were uploaded more than `older_than_ms` ago. Gives how many tasks it added. */
  async round(older_than_ms: number): Promise<number> {
    const { views, system, mediaTasks } = this.parts;
    const before = timestamp(system.now() - older_than_ms);
    let added = 0;
    for (const environment of ENVIRONMENTS) {
      const view = await views[environment].current();
      const after_id = this.reached.get(environment);
      const from = after_id === undefined ? {} : { after_id };
      const page = await view?.scan('media', { where: { status: 'processing' }, ...from, limit: ROUND });
      for (const { id, document } of page ?? []) {
        if (String(document?.keys.created_at) > before) continue;
        await mediaTasks.add({ environment, media_id: id as MediaId });
        added++;
      }
      if (page?.length === ROUND) this.reached.set(environment, page.at(-1)!.id);
      else this.reached.delete(environment);
    }
    return added;
  }
}
