import type { z } from 'zod';
import { permissionsOf } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import { noBody, tokenBody } from '../requests/tokens';
import { exampleIds, exampleToken } from '../responses/examples';
import type { Operation } from './operation';
import { ALWAYS, BODY } from './operation';

interface Exchange<Path extends string, Body extends z.ZodType, Answer extends z.ZodType> {
  readonly id: string;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly security: 'api_key' | 'bearer';
  readonly schema: Body;
  readonly sample: z.input<Body>;
  readonly answer: Answer;
  readonly example: z.output<Answer>;
  readonly refusals: readonly Condition[];
}

function exchange<const Path extends string, Body extends z.ZodType, Answer extends z.ZodType>(
  options: Exchange<Path, Body, Answer>,
) {
  const { answer, example, sample, refusals, ...rest } = options;
  return {
    ...rest,
    answer,
    method: 'POST',
    tag: 'Tokens',
    body: { required: false, content: { 'application/json': { schema: rest.schema, example: sample } } },
    successes: {
      200: { description: 'Granted.', content: { 'application/json': { schema: answer, example } } },
    },
    conditions: [...refusals, ...BODY, 'field_invalid', ...ALWAYS],
  } as const satisfies Operation & { schema: Body; answer: Answer };
}

const BAD_TOKEN: readonly Condition[] = [
  ...(['unauthenticated', 'token_invalid', 'token_expired', 'key_revoked', 'key_invalid'] as const),
];
const token = {
  answer: answers.TokenAnswer,
  example: {
    ...({ code: 200, status: 'OK' } as const),
    data: { token: exampleToken, token_type: 'Bearer', expires_in: 900 } as const,
  },
};

/** Every endpoint of `/auth` (spec, "Authentication endpoints"). */
export const tokens = {
  issueToken: exchange({
    ...token,
    id: 'issueToken',
    path: '/auth/token',
    summary: 'Exchange an API key for a token',
    security: 'api_key',
    schema: tokenBody,
    sample: { ttl_minutes: 15 },
    refusals: ['unauthenticated', 'key_revoked', 'key_invalid'],
  }),
  refreshToken: exchange({
    ...token,
    id: 'refreshToken',
    path: '/auth/refresh',
    summary: 'Exchange a token for a new one',
    description: 'Of the same lifetime. An expired token cannot be refreshed.',
    security: 'bearer',
    schema: noBody,
    sample: {},
    refusals: BAD_TOKEN,
  }),
  validateToken: exchange({
    id: 'validateToken',
    path: '/auth/validate',
    summary: 'Say what a token allows',
    security: 'bearer',
    schema: noBody,
    sample: {},
    answer: answers.ValidationAnswer,
    example: {
      code: 200,
      status: 'OK',
      data: {
        valid: true,
        api_key_id: exampleIds.api_key,
        account_id: exampleIds.account,
        key_type: 'public',
        stores: [exampleIds.store],
        permissions: permissionsOf('public'),
        expires_at: '2026-01-31T12:15:00.000Z',
      },
    },
    refusals: BAD_TOKEN,
  }),
};
