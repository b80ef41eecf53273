import type { z } from 'zod';
import type { MaintenanceStores } from '../../projections/maintenance/parts';
import type { Maintain } from '../../projections/maintenance/tasks';
import type { Realm } from '../../shared/catalog/realm';
import { readBody } from '../../shared/http/body';
import type { ReadyCheck } from '../../shared/http/operational';
import type { HttpRequest } from '../../shared/http/request';
import { parseBody, parseQuery, queryParameters } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { WriteContext } from '../command/execute';

/** The stores of the process, which the endpoints read and change with the functions of the command line. */
export interface OperatorDeps extends MaintenanceStores {
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly ready: ReadyCheck;
  readonly maintain: Maintain;
}

interface Visit<Query, Body> {
  readonly deps: OperatorDeps;
  readonly query: Query;
  readonly body: Body;
  /** The id in the path, empty if the path has none. */
  readonly id: string;
  readonly context: WriteContext;
}

export interface OperatorAnswer {
  /** Default: 200. */
  readonly status?: number;
  /** Sent as JSON. Positions become strings, secrets are hidden. */
  readonly data: unknown;
  readonly meta?: unknown;
  /** Why nothing was done. The answer then has the status 409, and `data` is what there is now. */
  readonly conflict?: string;
}

type Received = Pick<Visit<unknown, unknown>, 'deps' | 'id' | 'context'> & { readonly req: HttpRequest };

/** An endpoint of `/operator`. `docs/operations/interface.md` lists each of them with the names of its parameters. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly answer: (received: Received) => Promise<OperatorAnswer>;
}

/** Declares an endpoint, such as `GET /operator/health`. Its query and body are checked before `handle` is called. */
export function endpoint<Query = undefined, Body = undefined>(
  name: `${Endpoint['method']} /operator/${string}`,
  { query, body }: { readonly query?: z.ZodType<Query>; readonly body?: z.ZodType<Body> },
  handle: (visit: Visit<Query, Body>) => Promise<OperatorAnswer>,
): Endpoint {
  const [method, path] = name.split(' ') as [Endpoint['method'], string];
  return {
    method,
    path,
    ...(query && { query }),
    ...(body && { body }),
    answer: async ({ req, ...received }) =>
      handle({
        ...received,
        query: (query && parseQuery(query, queryParameters(req.url))) as Query,
        body: (body && parseBody(body, await readBody(req))) as Body,
      }),
  };
}

export const notFound = (message: string): CatalogError => new CatalogError('path_not_found', { message });

/** Secrets of webhooks and hashes of API keys are in the log. */
export const hideSecrets = (name: string, value: unknown): unknown =>
  ['secret', 'key_hash'].includes(name) ? '(hidden)' : value;

/** Returns JSON in which positions are strings and secrets are hidden. */
export const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (name, inner) =>
    typeof inner === 'bigint' ? String(inner) : hideSecrets(name, inner),
  );
