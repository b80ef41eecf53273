import type { ApiOperation } from '../../shared/api/operations/operation';
import { reads } from '../../shared/api/operations/reads';
import type { Environment } from '../../shared/catalog/realm';
import type { CacheObserver } from '../../shared/http/metrics';
import { type Answer, type ApiRequest, type Pictures, type Route, routeOf } from '../../shared/http/route';
import type { System } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/view-store';
import {
  readListingPublications,
  readListings,
  readPaymentMethods,
  readPublications,
  readReviews,
} from './lists';
import { type ReadSide, type ReadSides, StoreStatuses } from './read';
import { readListing, readMedia, readPublication, readStore } from './resources';
import { readRelated, readSearch } from './search';
import type { RecordView } from './view-counter';

export interface QueryOptions {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly system: System;
  /** What anybody may load. */
  readonly pictures: Pictures;
  /** Told of every view of a publication (decisions §5). */
  readonly recordView?: RecordView;
  readonly onCache?: CacheObserver;
}

type Read = (sides: ReadSides, request: ApiRequest) => Promise<Answer>;

const READS: readonly (readonly [operation: ApiOperation, read: Read])[] = [
  [reads.getStore, readStore],
  [reads.searchStore, readSearch],
  [reads.listStoreListings, readListings],
  [reads.listPaymentMethods, readPaymentMethods],
  [reads.listListings, readListings],
  [reads.getListing, readListing],
  [reads.listListingPublications, readListingPublications],
  [reads.listPublications, readPublications],
  [reads.getPublication, readPublication],
  [reads.listRelatedPublications, readRelated],
  [reads.listReviews, readReviews],
  [reads.getMedia, readMedia],
];

/** Every read of the interface (spec, "Read endpoints"). */
export function queryRoutes({
  views,
  system,
  pictures,
  recordView = () => {},
  onCache,
}: QueryOptions): Route[] {
  const side = (view: ActiveView): ReadSide => ({ view, statuses: new StoreStatuses(system.now, onCache) });
  const sides: ReadSides = { live: side(views.live), test: side(views.test), recordView, pictures };
  return READS.map(([operation, read]) => routeOf(operation, read.bind(undefined, sides)));
}
