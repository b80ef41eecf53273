import { waitFor } from '../wait-for';
import type { EventStoreStandIn } from './standin';

/**
 * Runs `work`, and cuts all connections each time that so many more events have been stored: after progress, not after
 * time, so that a slow machine gets on between two cuts.
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
  await Promise.all([working, cutting]);
}
