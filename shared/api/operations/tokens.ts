import type { z } from 'zod';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import { noBody, tokenBody } from '../requests/tokens';
import type { Messages, Operation, Unnamed } from './operation';
import { BODY_CONDITIONS, GENERAL_CONDITIONS, withIds } from './operation';

interface TokenOperation<Body extends z.ZodType> extends Pick<Operation, 'path' | 'summary' | 'description'> {
  readonly security: 'api_key' | 'bearer';
  readonly schema: Body;
  readonly sample: z.input<Body>;
  /** Description of the 200. */
  readonly success: string;
  readonly answer: z.ZodType;
  /** The conditions of the credential, and of a field. */
  readonly messages: Messages;
}

function tokenOperation<Body extends z.ZodType>(options: TokenOperation<Body>) {
  const { answer, sample, success, ...rest } = options;
  return {
    ...rest,
    method: 'POST',
    tag: 'Tokens',
    body: { required: false, content: { 'application/json': { schema: rest.schema, example: sample } } },
    successes: {
      200: { description: success, content: { 'application/json': { schema: answer } } },
    },
    conditions: [...conditionsIn(rest.messages), ...BODY_CONDITIONS, ...GENERAL_CONDITIONS],
  } as const satisfies Unnamed<Operation> & { schema: Body };
}

const conditionsIn = (messages: Messages) => Object.keys(messages) as Condition[];

/** The exact texts of the errors of `/auth` (docs/errors.md). */
const KEY_INVALID = 'Invalid API key';
const TOKEN_INVALID = 'Invalid or expired token';
const BAD_KEY = { key_revoked: KEY_INVALID, key_invalid: KEY_INVALID };
const BAD_TOKEN = {
  unauthenticated: 'Bearer token required in Authorization header',
  ...{ token_invalid: TOKEN_INVALID, token_expired: TOKEN_INVALID },
  field_invalid: 'ttl_minutes is not a known field',
};
const token = { success: 'The token was issued.', answer: answers.TokenAnswer };

/** Every endpoint of `/auth` (docs/interface/README.md#endpoints). */
export const tokens = withIds({
  issueToken: tokenOperation({
    ...token,
    path: '/auth/token',
    summary: 'Issue a token',
    description: 'Exchanges an API key for a bearer token.',
    security: 'api_key',
    schema: tokenBody,
    sample: { ttl_minutes: 15 },
    messages: {
      ...{ unauthenticated: 'X-API-Key header required', ...BAD_KEY },
      field_invalid: 'Invalid ttl_minutes: expected an integer from 1 to 60',
    },
  }),
  refreshToken: tokenOperation({
    ...token,
    path: '/auth/refresh',
    summary: 'Refresh a token',
    description:
      'Exchanges a token for a new one with the same lifetime. An expired token cannot be refreshed.',
    security: 'bearer',
    schema: noBody,
    sample: {},
    messages: { ...BAD_TOKEN, ...BAD_KEY },
  }),
  validateToken: tokenOperation({
    path: '/auth/validate',
    summary: 'Validate a token',
    description: 'Returns the key, stores, permissions and expiry of a token.',
    success: 'The token is valid.',
    security: 'bearer',
    schema: noBody,
    sample: {},
    answer: answers.ValidationAnswer,
    messages: { ...BAD_TOKEN, key_revoked: TOKEN_INVALID, key_invalid: TOKEN_INVALID },
  }),
});
