import { handleSpelling } from '../../shared/catalog/input-rules';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import { nameIdOf } from '../../shared/catalog/name/name';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { handleIn, handlesOf } from '../../shared/catalog/translations';
import type { Answer, ApiRequest, Presentation } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import { openStore, type ReadDeps, requestedStore } from './read';

type Read = (deps: ReadDeps, request: ApiRequest) => Promise<Answer>;

/**
 * Returns the read of `GET /api/<kind>/by-handle/:handle`: calls `read` with the id of the resource that reserved the
 * handle last, in any locale. `read` answers with `movedFrom` if the answer shows another handle.
 */
export function byHandle(kind: 'publication' | 'listing', read: Read): Read {
  return async (deps, request) => {
    const store_id = requestedStore(request);
    const version = await openStore(deps, request, store_id);
    const handle = handleSpelling(request.params.handle ?? '');
    const name = nameIdOf({ store_id, kind, field: 'handle', value: handle });
    const id = (await version.get('names', name))?.document?.body.owner_id;
    if (id === undefined) throw new CatalogError(`${kind}_not_found`);
    return read(deps, { ...request, params: { id, handle } });
  };
}

/**
 * Returns the redirection of a request with another handle of the resource than the answer shows: an earlier one, or one in
 * another locale. Undefined for any other request.
 */
export function movedFrom(
  request: ApiRequest,
  { body }: Pick<ListingDocument | PublicationDocument, 'body'>,
  { locales = [] }: Presentation,
): Answer | undefined {
  const { params, query } = request;
  if (params.handle === undefined) return undefined;
  const { id, object } = body;
  const handle = handleIn(body, locales);
  const is_elsewhere = handle === undefined && handlesOf(body).some(([, one]) => one === params.handle);
  if (params.handle === handle || is_elsewhere) return undefined;
  // Its writer has reserved the handle and was interrupted.
  if (handle === undefined) throw new CatalogError(`${object}_not_found`);
  const parameters = Object.entries(query).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
  const Location = `/api/${object}/by-handle/${encodeURIComponent(String(handle))}${search}`;
  const vary = body.translations !== undefined && { Vary: 'Authorization, Accept-Encoding, Accept-Language' };
  return { status: 301, data: { id, object, handle }, headers: { Location, ...vary } };
}
