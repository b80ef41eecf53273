import type { ApiOperation } from '../../shared/api/operations/operation';
import { reads } from '../../shared/api/operations/reads';
import { shapeOf } from '../../shared/api/requests/parameters';
import type { Environment, Realm } from '../../shared/catalog/realm';
import type { CacheObserver } from '../../shared/http/metrics';
import { type Pictures, type Route, routeOf } from '../../shared/http/route';
import type { StreamSlots } from '../../shared/http/stream-slots';
import type { System } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import { orByIds } from './by-ids';
import { changeSlots, readChanges } from './changes';
import { orDeleted } from './deleted';
import { exportSlots, readExport } from './export';
import { byHandle } from './handles';
import { orAsOf, readHistory, readRevision } from './history';
import { readKeys } from './keys';
import { readListPrices } from './list-prices';
import { publicationsOrAsOf } from './listing-as-of';
import {
  readListingPublications,
  readListings,
  readMediaList,
  readPaymentMethods,
  readPublications,
  readReviews,
  readStoreReviews,
  readVariant,
  readVariants,
} from './lists';
import { readMediaUses } from './media-uses';
import type { RecordPageView } from './page-view-counter';
import { presented } from './presentation';
import { readProposal, readProposals } from './proposals';
import { activeStores, type EnvironmentReads, type ReadHandler } from './read';
import { readListing, readMedia, readPublication, readStore } from './resources';
import { readRelated, readSearch } from './search';
import { readStoreChanges } from './store-history';
import { readDeliveries, readWebhook, readWebhooks } from './webhooks';

export interface QueryOptions {
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly events: Readonly<Record<Environment, EventStore>>;
  readonly system: System;
  /** The public pictures. */
  readonly pictures: Pictures;
  /** Called for every view of a publication (docs/interface/publications.md#views). */
  readonly recordPageView?: RecordPageView;
  readonly onCache?: CacheObserver;
  /** Aborts when the process stops. Reads that wait for changes then end. */
  readonly stopping?: AbortSignal;
}

const READS: readonly (readonly [operation: ApiOperation, read: ReadHandler])[] = [
  [reads.getStore, readStore],
  [reads.searchStore, readSearch],
  [reads.exportStore, readExport],
  [reads.readChanges, readChanges],
  [reads.listStoreListings, readListings],
  [reads.listPaymentMethods, readPaymentMethods],
  [reads.listListings, orDeleted('listing', readListings)],
  [reads.getListing, orAsOf('listing', readListing)],
  [reads.getListingByHandle, byHandle('listing', readListing)],
  [reads.listListingPublications, publicationsOrAsOf(readListingPublications)],
  [reads.listPublications, orDeleted('publication', orByIds(readPublications))],
  [reads.getPublication, orAsOf('publication', readPublication)],
  [reads.getPublicationByHandle, byHandle('publication', readPublication)],
  [reads.listRelatedPublications, readRelated],
  [reads.listHistory, readStoreChanges],
  [reads.listPublicationHistory, readHistory('publication')],
  [reads.listListingHistory, readHistory('listing')],
  [reads.listStoreHistory, readHistory('store')],
  [reads.getPublicationRevision, readRevision('publication')],
  [reads.getListingRevision, readRevision('listing')],
  [reads.listListPrices, readListPrices],
  [reads.listVariants, readVariants],
  [reads.getVariant, readVariant],
  [reads.listReviews, readReviews],
  [reads.listStoreReviews, readStoreReviews],
  [reads.listKeys, readKeys],
  [reads.listWebhooks, readWebhooks],
  [reads.getWebhook, readWebhook],
  [reads.listDeliveries, readDeliveries],
  [reads.listProposals, readProposals],
  [reads.getProposal, readProposal],
  [reads.listMedia, readMediaList],
  [reads.getMedia, readMedia],
  [reads.listMediaUses, readMediaUses],
];

/** Returns the routes of all read endpoints (docs/interface/README.md#endpoints). */
export function queryRoutes({
  views,
  events,
  system,
  pictures,
  recordPageView = () => {},
  onCache,
  stopping,
}: QueryOptions): Route[] {
  const readsOf = (environment: Environment): EnvironmentReads => ({
    view: views[environment],
    active_stores: activeStores(views[environment], system.now, onCache),
    events: events[environment],
  });
  const deps = {
    ...{ live: readsOf('live'), test: readsOf('test'), control_view: views.control },
    ...{ recordPageView, pictures, now: system.now, stopping },
  };
  const slots = new Map<ApiOperation, StreamSlots>([
    [reads.exportStore, exportSlots()],
    [reads.readChanges, changeSlots()],
  ]);
  return READS.map(([operation, read]) => {
    const limited = slots.get(operation);
    const has_language = operation.query !== undefined && 'locale' in shapeOf(operation.query);
    const shown = has_language ? presented(operation, read) : read;
    return routeOf(operation, shown.bind(undefined, deps), limited && { slots: limited });
  });
}
