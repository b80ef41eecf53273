import { z } from 'zod';
import type { Fault } from '../kernel/errors';
import { field } from './fields';
import { timeField } from './input-rules';
import type { Visibility } from './vocabulary';

/** When a resource becomes public and when private. If both are set, `publish_at` is before `unpublish_at`. */
interface Schedule {
  readonly publish_at: string | null;
  readonly unpublish_at: string | null;
}

/** Returns the fields of the schedule of a resource, whose changes are events of type `event`. */
export const scheduleFields = <const Event extends string>(event: Event, what: string) => ({
  publish_at: field(z.string().nullable(), {
    event,
    input: timeField.nullable(),
    initial: null,
    added: true,
    doc: `When the ${what} becomes \`public\`. It is cleared then. A new ${what} with \`publish_at\` and without \`visibility\` is \`private\` until then.`,
    example: '2026-12-01T00:00:00.000Z',
  }),
  unpublish_at: field(z.string().nullable(), {
    event,
    input: timeField.nullable(),
    initial: null,
    added: true,
    doc: `When the ${what} becomes \`private\`. Must be after \`publish_at\`. It is cleared then.`,
    example: '2026-12-27T00:00:00.000Z',
  }),
});

/** Returns when the visibility changes next, in Unix milliseconds. Null if no time is set. */
export function dueAt({ publish_at, unpublish_at }: Schedule): number | null {
  const next = publish_at ?? unpublish_at;
  return next === null ? null : Date.parse(next);
}

/** Returns the visibility of the last time that has passed, without the times that have passed. */
export function dueChanges(
  { publish_at, unpublish_at }: Schedule,
  now: string,
): Partial<Schedule> & { readonly visibility?: Visibility } {
  const hasPassed = (time: string | null): boolean => time !== null && time <= now;
  if (hasPassed(unpublish_at)) return { visibility: 'private', publish_at: null, unpublish_at: null };
  return hasPassed(publish_at) ? { visibility: 'public', publish_at: null } : {};
}

/** Makes a new resource that is to be published later private, unless the request sends a visibility. */
export function withInitialVisibility<
  Sent extends {
    readonly publish_at?: string | null | undefined;
    readonly visibility?: Visibility | undefined;
  },
>(sent: Sent): Sent {
  return sent.publish_at ? { ...sent, visibility: sent.visibility ?? 'private' } : sent;
}

/** Returns a fault for each span of time that ends before it begins. `valueAfter`: the value of a field after a write. */
export function faultsInSpans<Name extends string>(
  spans: readonly (readonly [start: Name, end: Name])[],
  valueAfter: (name: Name) => unknown,
): Fault[] {
  return spans.flatMap(([start, end]): Fault | [] => {
    const [from, to] = [valueAfter(start), valueAfter(end)];
    const is_valid = typeof from !== 'string' || typeof to !== 'string' || from < to;
    return is_valid ? [] : { condition: 'field_invalid', field: end, constraint: `after ${start}` };
  });
}

/** The fields of `scheduleFields`, for `faultsInSpans`. */
export const SCHEDULE_SPAN = ['publish_at', 'unpublish_at'] as const;
