import { z } from 'zod';
import type { Permission } from '../../shared/contracts/vocabulary';
import type { ApiRequest } from '../../shared/http/route';
import { commaList, parseQuery, queryId } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { VISIBILITY_FILTERS, type VisibilityFilter } from './visibility';

/** The values of `expand` (spec, "Query parameters"). Every read takes all three; most add nothing to it. */
const EXPANDABLE = ['publication', 'listing', 'media'] as const;
export type Expandable = (typeof EXPANDABLE)[number];

const PERMISSION_TO_EXPAND: Readonly<Record<Expandable, Permission>> = {
  publication: 'read:publications',
  listing: 'read:listings',
  media: 'read:media',
};

/** The parameters of every read. `store_id` is checked here and followed by the store guard. */
export const readSchema = z.object({
  store_id: queryId.optional(),
  visibility: z.enum(VISIBILITY_FILTERS).default('public'),
  expand: commaList(EXPANDABLE),
});

export interface ReadQuery {
  readonly visibility: VisibilityFilter;
  readonly expand: readonly Expandable[];
}

/**
 * The request's query by `schema`. Throws `invalid_query`, and `insufficient_permissions` where a public key asks
 * for what is hidden (decisions §3) or where an expansion that adds something, one of `adds`, is not the key's to read.
 */
export function parseRead<Query extends ReadQuery>(
  schema: z.ZodType<Query>,
  request: ApiRequest,
  adds: readonly Expandable[],
): Query {
  const query = parseQuery(schema, request.query);
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
