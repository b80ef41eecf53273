import { parseStreamName, type StreamName } from '../../shared/catalog/events/envelope';
import type { AppendResult, EventStore } from '../../shared/ports/event-store';

/** When an append fails: before or after its events are stored. To a client it looks like a crash of the process. */
export type AppendFault = 'before' | 'after';

/** Whether the append reserves a name, before that of the resource. */
const isOfName = (stream: StreamName): boolean => parseStreamName(stream)?.category === 'name';

/**
 * Makes the next append reject with `error`: `before` the events are stored, or `after`. With `after`, the events are
 * stored although the writer gets an error.
 */
export function breakNextAppend(events: EventStore, fault: AppendFault, error: Error): void {
  const append = events.append.bind(events);
  events.append = async (...args): Promise<AppendResult> => {
    if (isOfName(args[0])) return append(...args);
    events.append = append;
    if (fault === 'after') await append(...args);
    throw error;
  };
}

/**
 * Makes the next append reject with `error`, and stores its events late: right before those of the append after it. The
 * log is then that of a server that has acknowledged the first append too late.
 */
export function delayNextAppend(events: EventStore, error: Error): void {
  const append = events.append.bind(events);
  events.append = async (...late): Promise<AppendResult> => {
    if (isOfName(late[0])) return append(...late);
    events.append = async (...args) => {
      if (isOfName(args[0])) return append(...args);
      events.append = append;
      await append(...late);
      return append(...args);
    };
    throw error;
  };
}
