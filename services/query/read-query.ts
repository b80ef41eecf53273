import type { z } from 'zod';
import type { Expandable, VisibilityFilter } from '../../shared/api/requests/reads';
import type { Permission } from '../../shared/catalog/vocabulary';
import type { ApiRequest } from '../../shared/http/route';
import { parseQueryOnce } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';

const PERMISSION_TO_EXPAND: Readonly<Record<Expandable, Permission>> = {
  publication: 'read:publications',
  listing: 'read:listings',
  media: 'read:media',
};

export interface ReadQuery {
  readonly visibility: VisibilityFilter;
  readonly expand: readonly Expandable[];
}

/**
 * The request's query as the operation has it. Throws `invalid_query`, and `insufficient_permissions` where a public key asks
 * for what is hidden (decisions §3) or where an expansion that adds something, one of `adds`, is not the key's to read.
 */
export function parseRead<Query extends ReadQuery>(
  operation: { readonly query: z.ZodType<Query> },
  request: ApiRequest,
  adds: readonly Expandable[],
): Query {
  const query = parseQueryOnce(operation.query, request.query);
  const { key_type, permissions } = request.principal;
  if (query.visibility !== 'public' && key_type === 'public')
    throw new CatalogError('insufficient_permissions', {
      message: `visibility=${query.visibility} needs a secret key`,
    });
  for (const value of adds) {
    const needed = PERMISSION_TO_EXPAND[value];
    if (query.expand.includes(value) && !permissions.includes(needed))
      throw new CatalogError('insufficient_permissions', { message: `expand=${value} needs ${needed}` });
  }
  return query;
}
