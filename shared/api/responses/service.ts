import { z } from 'zod';
import { keyTypeSchema, permissionSchema } from '../../catalog/vocabulary';

// Responses of `/auth/*` and `/health/*`.

export const tokenSchema = z.strictObject({
  token: z
    .string()
    .describe('The token. Send it as `Authorization: Bearer <token>` with requests to `/api`.'),
  token_type: z.literal('Bearer').describe('Scheme of the `Authorization` header.'),
  expires_in: z.int().min(1).describe('Lifetime of the token in seconds.'),
});

export const validationSchema = z.strictObject({
  valid: z.literal(true).describe('The token is valid.'),
  api_key_id: z.string().describe('Id of the API key that the token was issued for.'),
  account_id: z.string().describe('Id of the account that the key belongs to.'),
  key_type: keyTypeSchema.describe('Type of the key: `public` keys can read, `secret` keys can also write.'),
  stores: z.array(z.string()).describe('Ids of the stores that the key can access.'),
  permissions: z.array(permissionSchema).describe('What the key permits.'),
  needs_confirmation: z
    .boolean()
    .describe('Whether the writes of the key are proposals, which another key confirms.'),
  expires_at: z.iso.datetime({ precision: 3 }).describe('When the token expires: ISO 8601 in UTC.'),
});

/** State of each dependency. Its fields depend on the configured servers, so the schema is open. */
const details = z.record(z.string(), z.unknown()).describe('State of each dependency.');

export const startSchema = z
  .strictObject({
    docs: z.string().describe('Path of the documentation, a web page.'),
    openapi: z.string().describe('Path of this document.'),
    first_request: z.string().describe('How to get a token, as a command for a shell.'),
  })
  .describe('Where to begin.');

/** `data` of `GET /`. */
export const START = {
  ...{ docs: '/docs', openapi: '/openapi.json' },
  first_request: "curl -X POST $CATALOG/auth/token -H 'X-API-Key: pk_…'",
};

export const liveSchema = z
  .strictObject({
    live: z.literal(true).describe('The process responds.'),
    version: z.string().meta({ description: 'Version of the service.', example: '0.2.0' }),
  })
  .describe('State of the process.');
export const readySchema = z
  .looseObject({ ready: z.literal(true).describe('The service can serve requests.') })
  .describe('State of the service, and of each dependency.');

export const notReadySchema = z.strictObject({
  code: z.literal(503).describe('The HTTP status.'),
  status: z.literal('error').describe('Always `error` in a failed response.'),
  error: z
    .strictObject({
      code: z.literal('SERVICE_UNAVAILABLE').describe('What went wrong, for programs.'),
      message: z.string().describe('What went wrong, for people. The text may change.'),
      details,
    })
    .describe('What went wrong.'),
});

export type Token = z.infer<typeof tokenSchema>;
