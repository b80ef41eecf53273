import type { Environment } from '../../shared/contracts/realm';
import type { Permission } from '../../shared/contracts/vocabulary';
import type { CacheObserver } from '../../shared/http/metrics';
import type { Answer, ApiRequest, Route } from '../../shared/http/route';
import type { System } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/active-view';
import { readListing } from './listing';
import { readListingPublications } from './listing-publications';
import { readListings } from './listings';
import { readPaymentMethods } from './payment-methods';
import { readPublication } from './publication';
import { readPublications } from './publications';
import { readRelated } from './related';
import { readReviews } from './reviews';
import { readSearch } from './search';
import { readStore } from './store';
import type { ReadSide, ReadSides } from './store-guard';
import { readStoreListings } from './store-listings';
import { StoreStatuses } from './store-statuses';
import type { RecordView } from './view-counter';

export interface QueryOptions {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly system: System;
  /** Told of every view of a publication (decisions §5). */
  readonly recordView?: RecordView;
  readonly onCache?: CacheObserver;
}

type Read = (sides: ReadSides, request: ApiRequest) => Promise<Answer>;

const READS: readonly (readonly [path: string, permission: Permission, read: Read])[] = [
  ['/api/store', 'read:stores', readStore],
  ['/api/store/search', 'read:publications', readSearch],
  ['/api/store-listings', 'read:listings', readStoreListings],
  ['/api/payment-methods', 'read:payment_methods', readPaymentMethods],
  ['/api/listings', 'read:listings', readListings],
  ['/api/listing/:id', 'read:listings', readListing],
  ['/api/listing/:id/publications', 'read:publications', readListingPublications],
  ['/api/publications', 'read:publications', readPublications],
  ['/api/publication/:id', 'read:publications', readPublication],
  ['/api/publication/:id/related', 'read:publications', readRelated],
  ['/api/publication/:id/reviews', 'read:reviews', readReviews],
];

/** Every read of the interface (spec, "Read endpoints"). */
export function queryRoutes({ views, system, recordView = () => {}, onCache }: QueryOptions): Route[] {
  const side = (view: ActiveView): ReadSide => ({ view, statuses: new StoreStatuses(system.now, onCache) });
  const sides: ReadSides = { live: side(views.live), test: side(views.test), recordView };
  return READS.map(([path, permission, read]) => ({
    method: 'GET',
    path,
    permission,
    handler: (request) => read(sides, request),
  }));
}
