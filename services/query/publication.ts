import { reads } from '../../shared/api/operations/reads';
import type { Answer, ApiRequest } from '../../shared/http/route';
import type { PublicationId } from '../../shared/kernel/ids';
import { findById, openForId } from './find-by-id';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import { parseRead } from './read-query';
import type { ReadSides } from './store-guard';
import { showsItem } from './visibility';

/**
 * `GET /api/publication/:id`. One with a public key is a view (decisions §5), also where it ends in a 304: the visitor sees
 * the page either way. HEAD is none, nor is a merchant's look with a secret key.
 */
export async function readPublication(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getPublication, request, EXPANSIONS.publication);
  const version = await openForId(sides, request, 'publications');
  const publication = await findById(sides, request, version, 'publications', {
    visibility: query.visibility,
    shows: showsItem,
    parts: partsFor('publication', query),
  });
  const { principal, method } = request;
  if (principal.key_type === 'public' && method === 'GET')
    sides.recordView({
      environment: principal.environment,
      publication_id: request.params.id as PublicationId,
    });
  return { data: presentPublication(publication, query), version: Number(publication.keys.version) };
}
