import { errorBody } from '../../shared/api/error-catalogue';
import { shapeOf } from '../../shared/api/requests/parameters';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { JsonText } from '../../shared/catalog/json-text';
import type { PublicAnswer, PublicRoute } from '../../shared/http/route';
import { checkParams } from '../../shared/http/serve-route';
import { ignoredParameters, queryParameters } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { Access, type AccessDeps } from './access';
import { accountEndpoints } from './accounts';
import { deadLetterEndpoints } from './dead-letters';
import { type Endpoint, jsonOf, type OperatorAnswer, type OperatorDeps } from './endpoint';
import { eventEndpoints } from './events';
import { healthEndpoints } from './health';
import { keyEndpoints } from './keys';
import { taskEndpoints } from './tasks';

export const ENDPOINTS: readonly Endpoint[] = [
  ...healthEndpoints,
  ...taskEndpoints,
  ...deadLetterEndpoints,
  ...eventEndpoints,
  ...accountEndpoints,
  ...keyEndpoints,
];

/** Builds the interface for operators (docs/operations/interface.md). Returns no routes without a `token`. */
export function operatorRoutes(deps: OperatorDeps & AccessDeps, token: string | undefined): PublicRoute[] {
  if (token === undefined) return [];
  const access = new Access(token, deps);
  const paths = [...new Set(ENDPOINTS.map(({ path }) => path))];
  const routes = paths.map((path): PublicRoute => {
    const endpoints = new Map(
      ENDPOINTS.filter((each) => each.path === path).map((each) => [each.method, each]),
    );
    return {
      path,
      methods: [...endpoints.keys()],
      serve: async (req, params, request_id) => {
        const headers = await access.admit(req);
        const { id = '' } = checkParams(params);
        const method = req.method === 'HEAD' ? 'GET' : (req.method as Endpoint['method']);
        const context = { source: 'cli', request_id } as const;
        const endpoint = endpoints.get(method)!;
        const known = new Set(endpoint.query ? Object.keys(shapeOf(endpoint.query)) : []);
        const ignored = ignoredParameters(queryParameters(req.url), known);
        const answer = await endpoint.answer({ deps, req, id, context });
        return presented(answer, { ...headers, ...(ignored && { 'X-Catalog-Ignored': ignored }) });
      },
    };
  });
  return [access.route, ...routes];
}

function presented(
  { status, data, meta, conflict }: OperatorAnswer,
  headers: Readonly<Record<string, string>>,
): PublicAnswer {
  if (conflict === undefined) {
    const read = meta === undefined ? {} : { meta: JSON.parse(jsonOf(meta)) as JsonObject };
    return { ...(status && { status }), data: new JsonText(jsonOf(data)), ...read, headers };
  }
  const body = errorBody(new CatalogError('lost_race', { message: conflict }));
  return { status: 409, body: jsonOf({ ...body, data }), headers };
}
