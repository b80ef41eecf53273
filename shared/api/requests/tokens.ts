import { z } from 'zod';

/** The bodies of `/auth/*` (spec, "Authentication endpoints"). */

const TTL_MINUTES_DEFAULT = 15;
const TTL_MINUTES_MAX = 60;
const ttl = `an integer from 1 to ${TTL_MINUTES_MAX}`;

export const tokenBody = z.strictObject({
  ttl_minutes: z
    .int(ttl)
    .min(1, ttl)
    .max(TTL_MINUTES_MAX, ttl)
    .default(TTL_MINUTES_DEFAULT)
    .describe('How long the token lives.'),
});

/** Refusing fields tells a client that its `ttl_minutes` has no effect here. */
export const noBody = z.strictObject({});
