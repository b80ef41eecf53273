import { z } from 'zod';
import { FAULTS_MAX } from '../../kernel/errors';
import { errorCatalogue } from '../error-catalogue';

/** All values of `error.code` (docs/interface/requests.md#errors). */
export const errorCodeSchema = z.enum(Object.values(errorCatalogue).map(({ code }) => code));

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

/** Structured error body of all areas except `/auth/*` (docs/interface/requests.md#errors). */
export const errorSchema = z.strictObject({
  code: httpStatus,
  status,
  message: z.string().optional().describe('Summary of the error. Present only on 400.'),
  error: errorInfoSchema,
});

/** Plain error body of `/auth/*` (docs/interface/requests.md#errors). */
export const authErrorSchema = z.strictObject({
  code: httpStatus,
  status,
  message: z.string().describe('What went wrong.'),
});
