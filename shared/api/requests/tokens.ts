import { z } from 'zod';

// Bodies of `/auth/*` (docs/interface/README.md#endpoints).

const TTL_MINUTES_DEFAULT = 15;
const TTL_MINUTES_MAX = 60;
const TTL_ERROR = `an integer from 1 to ${TTL_MINUTES_MAX}`;

export const tokenBody = z.strictObject({
  ttl_minutes: z
    .int(TTL_ERROR)
    .min(1, TTL_ERROR)
    .max(TTL_MINUTES_MAX, TTL_ERROR)
    .default(TTL_MINUTES_DEFAULT)
    .describe('Lifetime of the token in minutes.'),
});

/** Rejects all fields, so that a client notices that `ttl_minutes` has no effect here. */
export const noBody = z.strictObject({});
