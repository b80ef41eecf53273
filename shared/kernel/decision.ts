import type { Condition, Fault } from './errors';

/** Result of `decide`: the events to append (none if nothing changes), or the condition that rejects the command. */
export type Decision<Event> = { readonly ok: true; readonly events: readonly Event[] } | Rejection;

/** `faults`: for invalid fields, which fields and why. */
export interface Rejection {
  readonly ok: false;
  readonly condition: Condition;
  readonly message?: string;
  readonly faults?: readonly Fault[];
}

/** Returns the decision to append these events. */
export const accept = <Event>(...events: Event[]): Decision<Event> => ({ ok: true, events });

/** Returns the decision to reject the command. `message` replaces the text of the error catalogue. */
export const reject = (condition: Condition, message?: string): Rejection =>
  message === undefined ? { ok: false, condition } : { ok: false, condition, message };

/** Returns the decision to reject the command because of these fields, at least one. */
export const rejectFaults = (faults: readonly Fault[]): Rejection => ({
  ok: false,
  condition: faults[0]!.condition,
  faults,
});
