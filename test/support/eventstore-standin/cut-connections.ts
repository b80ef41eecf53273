import { WAIT_MS_MAX, waitFor, within } from '../wait-for';
import type { EventStoreStandIn } from './standin';

/**
 * Runs `work` and cuts all connections each time that `events_between` more events have been stored. It counts events
 * instead of time, so that a slow machine makes progress between two cuts.
 */
export async function whileConnectionsAreCut(
  server: EventStoreStandIn,
  events_between: number,
  work: () => Promise<unknown>,
): Promise<void> {
  let over = false;
  const working = work().finally(() => {
    over = true;
  });
  const stored = (): number => server.events('').length;
  const cutting = (async () => {
    for (let goal = stored() + events_between; !over; goal += events_between) {
      await waitFor(() => over || stored() >= goal);
      server.cutConnections();
    }
  })();
  await within(Promise.all([working, cutting]), 'the work while connections are cut', 2 * WAIT_MS_MAX);
}
