import type { AppendResult, EventStore } from '../../shared/ports/event-store';

/** What goes wrong with one append, as the crash of a process at that moment looks from outside. */
export type AppendFault = 'before' | 'after';

/**
 * Breaks the next append of the log: `before` it is stored, or `after`, so that it is stored and nobody is told.
 * The answers of `error` come back to the writer.
 */
export function breakNextAppend(events: EventStore, fault: AppendFault, error: Error): void {
  const append = events.append.bind(events);
  events.append = async (...given): Promise<AppendResult> => {
    events.append = append;
    if (fault === 'after') await append(...given);
    throw error;
  };
}
