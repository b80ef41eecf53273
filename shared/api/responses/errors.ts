import { z } from 'zod';

/** Every `error.code` that is sent (spec, "Codes by status"); which condition gives which: `error-catalogue.ts`. */
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
  'DUPLICATE_OPERATION',
  'RESOURCE_LOCKED',
  'RATE_LIMIT_EXCEEDED',
  'SERVICE_UNAVAILABLE',
  'DATABASE_TIMEOUT',
  'INTERNAL_ERROR',
]);
export type ErrorCode = z.infer<typeof errorCodeSchema>;

const httpStatus = z.int().min(400).max(599);

export const faultSchema = z.strictObject({
  field: z.string(),
  constraint: z.string().describe('What it should have been.'),
  code: errorCodeSchema,
});

/** The structured body of everything but `/auth/*` (spec, "Structured error body"). */
export const errorSchema = z.strictObject({
  code: httpStatus,
  status: z.literal('error'),
  message: z.string().optional().describe('On 400 alone.'),
  error: z.strictObject({
    code: errorCodeSchema,
    message: z.string().describe('For people.'),
    details: z
      .strictObject({
        field: z.string(),
        constraint: z.string(),
        errors: z.array(faultSchema).min(1),
      })
      .optional()
      .describe('Where a field or parameter is at fault: the first fault, and all of them.'),
    tier: z.enum(['public_key', 'secret_key']).optional().describe('On 429 alone.'),
  }),
});

/** The plain body of `/auth/*` (decisions §4). */
export const authErrorSchema = z.strictObject({
  code: httpStatus,
  status: z.literal('error'),
  message: z.string(),
});

export type ErrorBody = z.infer<typeof errorSchema>;
export type ErrorDetails = NonNullable<ErrorBody['error']['details']>;
