import type { StoredDocument } from '../../shared/catalog/documents';
import type { Environment } from '../../shared/catalog/realm';
import type { StoreDocument } from '../../shared/catalog/store/document';
import { storeOf } from '../../shared/http/auth';
import type { ApiRequest, Pictures } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ActiveView } from '../../shared/ports/view-store';
import { activeVersion, minPositionOf, waitForStores } from './freshness';
import type { StoreStatuses } from './store-statuses';
import type { RecordView } from './view-counter';

/** One environment's documents, as the reads see them. */
export interface ReadSide {
  readonly view: ActiveView;
  readonly statuses: StoreStatuses;
}

export type ReadSides = Readonly<Record<Environment, ReadSide>> & {
  readonly recordView: RecordView;
  readonly pictures: Pictures;
};

/** The store that the request names, or else the token's first. Throws `store_access_denied`, `invalid_uuid`. */
export function namedStore(request: ApiRequest): StoreId {
  return storeOf(request.principal, request.query.store_id?.[0]);
}

/** The version that a read of one store's resources is answered from, as new as the request asks. */
export async function openStore(
  sides: ReadSides,
  request: ApiRequest,
  store_id: StoreId,
): Promise<DocumentReader> {
  const position = minPositionOf(request);
  const { view } = sides[request.principal.environment];
  const version = await activeVersion(view);
  if (position !== undefined) await waitForStores(version, view.lane_count, [store_id], position);
  return version;
}

/** The store's document; throws `store_not_found` unless the store is there and active (decisions §3). */
export function assertActive(store: StoredDocument<StoreDocument> | undefined): StoreDocument {
  const document = store?.document;
  if (document?.keys.status !== 'active') throw new CatalogError('store_not_found');
  return document;
}
