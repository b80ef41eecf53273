import { z } from 'zod';
import { keyTypeSchema, permissionSchema } from '../../catalog/vocabulary';

// Responses of `/auth/*` and `/health/*`.

export const tokenSchema = z.strictObject({
  token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().min(1).describe('Lifetime of the token in seconds.'),
});

export const validationSchema = z.strictObject({
  valid: z.literal(true),
  api_key_id: z.string(),
  account_id: z.string(),
  key_type: keyTypeSchema,
  stores: z.array(z.string()),
  permissions: z.array(permissionSchema),
  expires_at: z.iso.datetime({ precision: 3 }),
});

/** State of each dependency. Its fields depend on the configured servers, so the schema is open. */
const details = z.record(z.string(), z.unknown());

export const liveSchema = z.strictObject({ live: z.literal(true) });
export const readySchema = z.looseObject({ ready: z.literal(true) });

export const notReadySchema = z.strictObject({
  code: z.literal(503),
  status: z.literal('error'),
  error: z.strictObject({ code: z.literal('SERVICE_UNAVAILABLE'), message: z.string(), details }),
});

export type Token = z.infer<typeof tokenSchema>;
