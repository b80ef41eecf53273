import type { Condition } from './errors';

/** Result of `decide`: the events to append (none if nothing changes), or the condition that rejects the command. */
export type Decision<Event> =
  | { readonly ok: true; readonly events: readonly Event[] }
  | { readonly ok: false; readonly condition: Condition; readonly message?: string };

/** Returns the decision to append these events. */
export const accept = <Event>(...events: Event[]): Decision<Event> => ({ ok: true, events });

/** Returns the decision to reject the command. `message` replaces the text of the error catalogue. */
export const reject = (condition: Condition, message?: string): Decision<never> =>
  message === undefined ? { ok: false, condition } : { ok: false, condition, message };
