import { type Category, parseStreamName, type StreamName } from '../../shared/catalog/events/envelope';
import type { AppendResult, EventStore } from '../../shared/ports/event-store';

/** When an append fails: before or after its events are stored. To a client it looks like a crash of the process. */
export type AppendFault = 'before' | 'after';

/**
 * Whether the stream is that of such a resource. Faults skip the streams of names, which the same request reserves first,
 * and of media, which a worker writes meanwhile.
 */
const isOf = (stream: StreamName, category: Category = 'publication'): boolean =>
  parseStreamName(stream)?.category === category;

/**
 * Makes the next append to a publication, or to another resource, reject with `error`: `before` the events are stored, or
 * `after`. With `after`, the events are stored although the writer gets an error.
 */
export function breakNextAppend(
  events: EventStore,
  fault: AppendFault,
  error: Error,
  category?: Category,
): void {
  const append = events.append.bind(events);
  events.append = async (...args): Promise<AppendResult> => {
    if (!isOf(args[0], category)) return append(...args);
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
    if (!isOf(late[0])) return append(...late);
    events.append = async (...args) => {
      if (!isOf(args[0])) return append(...args);
      events.append = append;
      await append(...late);
      return append(...args);
    };
    await late[3]?.();
    throw error;
  };
}
