import type { Condition } from './errors';

/** What `decide` answers: the events to append (none when nothing changes), or why not. */
export type Decision<Event> =
  | { readonly ok: true; readonly events: readonly Event[] }
  | { readonly ok: false; readonly condition: Condition; readonly message?: string };

export const accept = <Event>(...events: Event[]): Decision<Event> => ({ ok: true, events });

export const reject = (condition: Condition, message?: string): Decision<never> =>
  message === undefined ? { ok: false, condition } : { ok: false, condition, message };
