import type { Answer, ApiRequest } from '../../shared/http/route';
import { findById, openForId } from './find-by-id';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import { parseRead, readSchema } from './read-query';
import type { ReadSides } from './store-guard';
import { showsItem } from './visibility';

/** `GET /api/publication/:id` */
export async function readPublication(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(readSchema, request, EXPANSIONS.publication);
  const version = await openForId(sides, request, 'publications');
  const publication = await findById(sides, request, version, 'publications', {
    visibility: query.visibility,
    shows: showsItem,
    parts: partsFor('publication', query),
  });
  return { data: presentPublication(publication, query), version: Number(publication.keys.version) };
}
