import { z } from 'zod';
import { FAULTS_MAX } from '../../kernel/errors';

/** All values of `error.code` (docs/interface.md#errors). `error-catalogue.ts` maps conditions to them. */
export const errorCodeSchema = z.enum([
  'UNAUTHORIZED',
  'TOKEN_INVALID',
  'TOKEN_EXPIRED',
  'REVOKED_API_KEY',
  'INVALID_API_KEY',
  'INSUFFICIENT_PERMISSIONS',
  'STORE_ACCESS_DENIED',
  'ACCOUNT_SUSPENDED',
  'NOT_FOUND',
  'OPERATION_NOT_ALLOWED',
  'STORE_NOT_FOUND',
  'LISTING_NOT_FOUND',
  'PUBLICATION_NOT_FOUND',
  'MEDIA_NOT_FOUND',
  'INVALID_REQUEST',
  'FIELD_REQUIRED',
  'FIELD_INVALID',
  'FIELD_TOO_LONG',
  'FIELD_TOO_SHORT',
  'INVALID_URL',
  'INVALID_EMAIL',
  'INVALID_UUID',
  'VALIDATION_ERROR',
  'LIMIT_EXCEEDED',
  'INVALID_FORMAT',
  'CONFLICT',
  'DEPENDENCY_EXISTS',
  'DUPLICATE_OPERATION',
  'RESOURCE_LOCKED',
  'RATE_LIMIT_EXCEEDED',
  'SERVICE_UNAVAILABLE',
  'DATABASE_TIMEOUT',
  'INTERNAL_ERROR',
]);
export type ErrorCode = z.infer<typeof errorCodeSchema>;

const httpStatus = z.int().min(400).max(599).describe('The HTTP status.');
const status = z.literal('error').describe('Always `error` in a failed response.');
const field = z.string().describe('Name of the invalid field or parameter, such as `media_ids.3`.');
const constraint = z.string().describe('The rule that the value breaks.');
const code = errorCodeSchema.describe('What went wrong, for programs. Codes do not change.');

export const faultSchema = z.strictObject({ field, constraint, code });

export const errorInfoSchema = z.strictObject({
  code,
  message: z.string().describe('What went wrong, for people. The text may change.'),
  details: z
    .strictObject({
      field,
      constraint,
      errors: z.array(faultSchema).min(1).max(FAULTS_MAX).describe('All faults, at most 50.'),
    })
    .optional()
    .describe('Present if a field or parameter is invalid: the first fault, and all faults in `errors`.'),
  tier: z
    .enum(['public_key', 'secret_key'])
    .optional()
    .describe('Present only on 429: the type of the key, as in `X-RateLimit-Tier`.'),
});

/** Structured error body of all areas except `/auth/*` (docs/interface.md#errors). */
export const errorSchema = z.strictObject({
  code: httpStatus,
  status,
  message: z.string().optional().describe('Summary of the error. Present only on 400.'),
  error: errorInfoSchema,
});

/** Plain error body of `/auth/*` (docs/interface.md#errors). */
export const authErrorSchema = z.strictObject({
  code: httpStatus,
  status,
  message: z.string().describe('What went wrong.'),
});
