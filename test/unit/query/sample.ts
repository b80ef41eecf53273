import { dataOfNew, initialValues } from '../../../shared/catalog/fields';
import type { Listing } from '../../../shared/catalog/listing/listing';
import { publicationFields } from '../../../shared/catalog/publication/fields';
import type { Publication, PublicationFields } from '../../../shared/catalog/publication/publication';
import type { Store } from '../../../shared/catalog/store/store';
import { type AccountId, type AnyId, deriveId, type StoreId } from '../../../shared/kernel/ids';
import { timestamp } from '../../../shared/kernel/system';

const FIRST_MS = Date.UTC(2026, 0, 31);

/** Returns an id that only depends on the name. */
export const idOf = <Id extends AnyId>(name: string): Id => deriveId<Id>(FIRST_MS, name);

/** Returns a timestamp, `n` minutes after the first one. */
export const minute = (n: number): string => timestamp(FIRST_MS + n * 60_000);

export function sampleStore(name: string, fields: Partial<Store> = {}): Store {
  return {
    id: idOf<StoreId>(name),
    account_id: idOf<AccountId>('account'),
    environment: 'live',
    name,
    status: 'active',
    description: null,
    businessHours: null,
    contact: null,
    policies: null,
    ruc: null,
    currency: null,
    new_review_status: null,
    payment_methods: [],
    version: 1,
    created_at: minute(0),
    updated_at: minute(0),
    ...fields,
  };
}

export function sampleListing(store: Store, name: string, fields: Partial<Listing> = {}): Listing {
  return {
    id: idOf(`${store.name}/${name}`),
    store_id: store.id,
    name,
    description: null,
    visibility: 'public',
    default_sort_mode: 'created_at_desc',
    media_ids: [],
    parent_id: null,
    external_id: null,
    handle: null,
    seo: null,
    version: 1,
    created_at: minute(0),
    updated_at: minute(0),
    publish_at: null,
    unpublish_at: null,
    ...fields,
  };
}

export function samplePublication(
  store: Store,
  title: string,
  fields: Partial<Publication> = {},
): Publication {
  return {
    // Defaults of fields that may be added later.
    ...dataOfNew<PublicationFields>({}, initialValues(publicationFields), {}),
    id: idOf(`${store.name}/${title}`),
    store_id: store.id,
    title,
    description: '',
    description_html: null,
    visibility: 'public',
    price_currency: 'USD',
    price_amount: 1_000,
    price_active: true,
    free_shipping: null,
    quantity_available: null,
    featured_position: null,
    listing_id: null,
    media_ids: [],
    view_count: 0,
    version: 1,
    created_at: minute(0),
    updated_at: minute(0),
    ...fields,
  };
}
