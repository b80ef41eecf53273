import type { z } from 'zod';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import { noBody, tokenBody } from '../requests/tokens';
import { exampleToken, exampleTokenDescription } from '../responses/examples';
import type { Operation } from './operation';
import { BODY_CONDITIONS, GENERAL_CONDITIONS } from './operation';

interface TokenOperation<Path extends string, Body extends z.ZodType, Answer extends z.ZodType> {
  readonly id: string;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly security: 'api_key' | 'bearer';
  readonly schema: Body;
  readonly sample: z.input<Body>;
  /** Description of the 200. */
  readonly success: string;
  readonly answer: Answer;
  readonly example: z.output<Answer>;
  /** The conditions of the credential. */
  readonly own_conditions: readonly Condition[];
}

function tokenOperation<const Path extends string, Body extends z.ZodType, Answer extends z.ZodType>(
  options: TokenOperation<Path, Body, Answer>,
) {
  const { answer, example, sample, success, own_conditions, ...rest } = options;
  return {
    ...rest,
    answer,
    method: 'POST',
    tag: 'Tokens',
    body: { required: false, content: { 'application/json': { schema: rest.schema, example: sample } } },
    successes: {
      200: { description: success, content: { 'application/json': { schema: answer, example } } },
    },
    conditions: [...own_conditions, ...BODY_CONDITIONS, 'field_invalid', ...GENERAL_CONDITIONS],
  } as const satisfies Operation & { schema: Body; answer: Answer };
}

const TOKEN_CONDITIONS: readonly Condition[] = [
  ...(['unauthenticated', 'token_invalid', 'token_expired', 'key_revoked', 'key_invalid'] as const),
];
const token = {
  success: 'The token was issued.',
  answer: answers.TokenAnswer,
  example: {
    ...({ code: 200, status: 'OK' } as const),
    data: { token: exampleToken, token_type: 'Bearer', expires_in: 900 } as const,
  },
};

/** Every endpoint of `/auth` (docs/interface.md#token-endpoints). */
export const tokens = {
  issueToken: tokenOperation({
    ...token,
    id: 'issueToken',
    path: '/auth/token',
    summary: 'Issue a token',
    description: 'Exchanges an API key for a bearer token.',
    security: 'api_key',
    schema: tokenBody,
    sample: { ttl_minutes: 15 },
    own_conditions: ['unauthenticated', 'key_revoked', 'key_invalid'],
  }),
  refreshToken: tokenOperation({
    ...token,
    id: 'refreshToken',
    path: '/auth/refresh',
    summary: 'Refresh a token',
    description:
      'Exchanges a token for a new one with the same lifetime. An expired token cannot be refreshed.',
    security: 'bearer',
    schema: noBody,
    sample: {},
    own_conditions: TOKEN_CONDITIONS,
  }),
  validateToken: tokenOperation({
    id: 'validateToken',
    path: '/auth/validate',
    summary: 'Validate a token',
    description: 'Returns the key, stores, permissions and expiry of a token.',
    success: 'The token is valid.',
    security: 'bearer',
    schema: noBody,
    sample: {},
    answer: answers.ValidationAnswer,
    example: {
      code: 200,
      status: 'OK',
      data: exampleTokenDescription,
    },
    own_conditions: TOKEN_CONDITIONS,
  }),
};
