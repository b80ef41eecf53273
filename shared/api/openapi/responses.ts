import type { z } from 'zod';
import type { JsonObject } from '../../catalog/events/envelope';
import { CatalogError, type Condition } from '../../kernel/errors';
import { authErrorBody, errorBody, errorCatalogue } from '../error-catalogue';
import type { ResponseHeader } from '../headers';
import type { Contents, Operation, Success } from '../operations/operation';
import { referTo } from './json-schemas';

type Names = ReadonlyMap<z.ZodType, string>;

/** The error bodies and headers of an operation go by its area. */
type Area = 'api' | 'auth' | 'other';

function areaOf(path: string): Area {
  if (path.startsWith('/api/')) return 'api';
  return path.startsWith('/auth/') ? 'auth' : 'other';
}

/** Every answer of an operation, by status: those of success, and those of the conditions that it can end in. */
export function responsesOf(operation: Operation, names: Names): JsonObject {
  const area = areaOf(operation.path);
  const told = { ...operation.successes, ...operation.failures };
  const responses: JsonObject = {};
  for (const [status, answer] of Object.entries(told)) responses[status] = successOf(area, answer, names);
  for (const [status, conditions] of conditionsByStatus(operation))
    responses[status] ??= failureOf(area, operation, Number(status), conditions);
  return responses;
}

export function contentOf(contents: Contents, names: Names): JsonObject {
  const entries = Object.entries(contents).map(([type, { schema, example }]) => [
    type,
    {
      ...(schema === undefined ? {} : { schema: referTo(names, schema) }),
      ...(example === undefined ? {} : { example }),
    },
  ]);
  return Object.fromEntries(entries);
}

/** One example of each condition in each of the two error shapes; the responses refer to them. */
export function errorExamples(conditions: Iterable<Condition>): JsonObject {
  const examples: JsonObject = {};
  for (const condition of conditions) {
    const summary = errorCatalogue[condition].code;
    examples[condition] = { summary, value: errorBody(failed(condition), 'public_key') };
    examples[`auth_${condition}`] = { summary, value: authErrorBody(failed(condition)) };
  }
  return examples;
}

/** As it is thrown where a field is at fault, and where none is. */
function failed(condition: Condition): CatalogError {
  const fault = FAULTS[condition];
  return fault === undefined ? new CatalogError(condition) : CatalogError.ofFaults([{ condition, ...fault }]);
}

const FAULTS: Partial<Record<Condition, { field: string; constraint: string }>> = {
  field_required: { field: 'title', constraint: 'required' },
  field_invalid: { field: 'price_amount', constraint: 'an integer' },
  field_too_long: { field: 'title', constraint: 'at most 200 characters' },
  field_too_short: { field: 'title', constraint: 'at least 1 character' },
  invalid_uuid: { field: 'id', constraint: 'a UUID' },
  invalid_query: { field: 'limit', constraint: 'an integer from 1 to 50' },
};

function successOf(area: Area, { description, headers = [], content }: Success, names: Names): JsonObject {
  return {
    description,
    headers: referToHeaders([...headersOf(area), ...headers]),
    ...(content === undefined ? {} : { content: contentOf(content, names) }),
  };
}

function conditionsByStatus({ conditions }: Operation): Map<string, Condition[]> {
  const byStatus = new Map<string, Condition[]>();
  for (const condition of new Set(conditions)) {
    const status = String(errorCatalogue[condition].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), condition]);
  }
  return byStatus;
}

function failureOf(area: Area, operation: Operation, status: number, conditions: Condition[]): JsonObject {
  const codes = [...new Set(conditions.map((condition) => errorCatalogue[condition].code))];
  const described = conditions.map((condition) => {
    const { code, message } = errorCatalogue[condition];
    return area === 'auth' ? message : `${code}: ${message}`;
  });
  const shape = area === 'auth' ? 'AuthError' : 'Error';
  const whole = { $ref: `#/components/schemas/${shape}` };
  const only = { type: 'object', properties: { code: { const: status }, ...codesOf(area, codes) } };
  const prefix = area === 'auth' ? 'auth_' : '';
  const examples = conditions.map((condition) => [
    condition,
    { $ref: `#/components/examples/${prefix}${condition}` },
  ]);
  return {
    description: `${described.join('; ')}.`,
    headers: referToHeaders([...headersOf(area), ...failureHeaders(area, operation, status, conditions)]),
    content: {
      'application/json': { schema: { allOf: [whole, only] }, examples: Object.fromEntries(examples) },
    },
  };
}

const codesOf = (area: Area, codes: string[]): JsonObject =>
  area === 'auth' ? {} : { error: { type: 'object', properties: { code: { enum: codes } } } };

/** What every answer of the area carries. */
function headersOf(area: Area): ResponseHeader[] {
  const always: ResponseHeader[] = ['X-Request-Id', 'Cache-Control'];
  if (area === 'other') return always;
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-RateLimit-Tier'];
  return [...always, ...(limits as ResponseHeader[])];
}

function failureHeaders(
  area: Area,
  { method }: Operation,
  status: number,
  conditions: readonly Condition[],
): ResponseHeader[] {
  if (status === 416) return ['Content-Range'];
  if (status === 401) return area === 'api' ? ['WWW-Authenticate'] : [];
  if (conditions.some((condition) => errorCatalogue[condition].retry_after_s !== undefined))
    return ['Retry-After'];
  // Pictures that are being made are there in a moment.
  if (method === 'GET' && conditions.includes('media_not_found')) return ['Retry-After'];
  // A refusal that was kept for an Idempotency-Key.
  const kept = area === 'api' && method !== 'GET' && (status === 404 || status === 412);
  return kept ? ['Idempotent-Replayed'] : [];
}

function referToHeaders(names: readonly ResponseHeader[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
