import type { ApiOperation } from '../../shared/api/operations/operation';
import { reads } from '../../shared/api/operations/reads';
import type { Environment } from '../../shared/catalog/realm';
import type { CacheObserver } from '../../shared/http/metrics';
import { type Answer, type ApiRequest, type Pictures, type Route, routeOf } from '../../shared/http/route';
import type { System } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/document-reader';
import { readExport } from './export';
import { byHandle } from './handles';
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
import type { RecordPageView } from './page-view-counter';
import { activeStores, type EnvironmentReads, type ReadDeps } from './read';
import { readListing, readMedia, readPublication, readStore } from './resources';
import { readRelated, readSearch } from './search';

export interface QueryOptions {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly system: System;
  /** The public pictures. */
  readonly pictures: Pictures;
  /** Called for every view of a publication (docs/interface.md#views). */
  readonly recordPageView?: RecordPageView;
  readonly onCache?: CacheObserver;
}

type ReadHandler = (deps: ReadDeps, request: ApiRequest) => Promise<Answer>;

const READS: readonly (readonly [operation: ApiOperation, read: ReadHandler])[] = [
  [reads.getStore, readStore],
  [reads.searchStore, readSearch],
  [reads.exportStore, readExport],
  [reads.listStoreListings, readListings],
  [reads.listPaymentMethods, readPaymentMethods],
  [reads.listListings, readListings],
  [reads.getListing, readListing],
  [reads.getListingByHandle, byHandle('listing', readListing)],
  [reads.listListingPublications, readListingPublications],
  [reads.listPublications, readPublications],
  [reads.getPublication, readPublication],
  [reads.getPublicationByHandle, byHandle('publication', readPublication)],
  [reads.listRelatedPublications, readRelated],
  [reads.listVariants, readVariants],
  [reads.getVariant, readVariant],
  [reads.listReviews, readReviews],
  [reads.listStoreReviews, readStoreReviews],
  [reads.listMedia, readMediaList],
  [reads.getMedia, readMedia],
];

/** Returns the routes of all read endpoints (docs/interface.md#read-endpoints). */
export function queryRoutes({
  views,
  system,
  pictures,
  recordPageView = () => {},
  onCache,
}: QueryOptions): Route[] {
  const readsOf = (view: ActiveView): EnvironmentReads => ({
    view,
    active_stores: activeStores(view, system.now, onCache),
  });
  const { now } = system;
  const deps = { live: readsOf(views.live), test: readsOf(views.test), recordPageView, pictures, now };
  return READS.map(([operation, read]) => routeOf(operation, read.bind(undefined, deps)));
}
