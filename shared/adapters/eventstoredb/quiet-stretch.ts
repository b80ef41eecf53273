import type { Position } from '../../catalog/events/envelope';
import type { Connection } from './connection';
import { isServersOwn, positionOf, type StreamNames } from './events';
import { readAllFrom } from './reading';

/** More than the server's filter passes over between two reports. */
const SCAN_MAX = 512;

export interface QuietStretch {
  /** Nothing of the realm stands between `after` and here. */
  readonly position: Position;
  /** The next event is the realm's. */
  readonly ours_follows: boolean;
}

/** How far the log goes on after `after` without an event of the realm, looking at 512 events at most. */
export async function scanQuiet(
  connection: Connection,
  names: StreamNames,
  after: Position,
): Promise<QuietStretch> {
  let position = after;
  for (const event of await readAllFrom(connection, after, SCAN_MAX)) {
    const at = positionOf(event);
    if (at <= after) continue;
    if (event.streamId.startsWith(names.prefix) && !isServersOwn(event))
      return { position, ours_follows: true };
    position = at;
  }
  return { position, ours_follows: false };
}
