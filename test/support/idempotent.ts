import { parseStreamName, type StreamName } from '../../shared/catalog/events/envelope';
import type { AppendResult, EventStore } from '../../shared/ports/event-store';

/** When an append fails: before or after its events are stored. To a client it looks like a crash of the process. */
export type AppendFault = 'before' | 'after';

/**
 * Whether the stream is that of a publication. Faults skip the streams of names, which the same request reserves first, and
 * of media, which a worker writes meanwhile.
 */
const isOfPublication = (stream: StreamName): boolean => parseStreamName(stream)?.category === 'publication';

/**
 * Makes the next append to a publication reject with `error`: `before` the events are stored, or `after`. With `after`,
 * the events are stored although the writer gets an error.
 */
export function breakNextAppend(events: EventStore, fault: AppendFault, error: Error): void {
  const append = events.append.bind(events);
  events.append = async (...args): Promise<AppendResult> => {
    if (!isOfPublication(args[0])) return append(...args);
    events.append = append;
    if (fault === 'after') await append(...args);
    else await args[3]?.();
    throw error;
  };
}

/**
 * Makes the next append to a publication reject with `error`, and stores its events late: right before those of the append
 * after it. The log is then that of a server that has acknowledged the first append too late.
 */
export function delayNextAppend(events: EventStore, error: Error): void {
  const append = events.append.bind(events);
  events.append = async (...late): Promise<AppendResult> => {
    if (!isOfPublication(late[0])) return append(...late);
    events.append = async (...args) => {
      if (!isOfPublication(args[0])) return append(...args);
      events.append = append;
      await append(...late);
      return append(...args);
    };
    await late[3]?.();
    throw error;
  };
}
