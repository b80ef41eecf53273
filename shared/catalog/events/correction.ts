import { z } from 'zod';
import { defineEvent, type EventOf } from './event-definition';

const SUPERSEDED = 'EventSuperseded';

/**
 * An operator's correction, in any stream: readers take this content for the event of the same stream at `revision`, if
 * they cannot read that event. It changes nothing by itself, and the first one for a revision counts.
 */
export const correctionEvents = [
  defineEvent(
    SUPERSEDED,
    z.object({
      revision: z.int().min(0),
      type: z.string(),
      schema_version: z.int().min(1),
      data: z.record(z.string(), z.json()),
      reason: z.string(),
    }),
  ),
] as const;

export type CorrectionEvent = EventOf<typeof correctionEvents>;

export const isCorrection = ({ type }: { readonly type: string }): boolean => type === SUPERSEDED;
