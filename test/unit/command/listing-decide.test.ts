import type { ListingEvent, ListingFields } from '../../../shared/catalog/listing/listing';
import {
  decideListing,
  type ListingChanges,
  listingAggregate,
} from '../../../shared/catalog/listing/listing';
import type { ListingId } from '../../../shared/kernel/ids';
import { deciderSpec, newId } from './support';

const given = deciderSpec(listingAggregate, decideListing, newId<ListingId>());

const store_id = newId();
const media_ids = [newId()];
const input = { name: 'Teas' };
const fields: ListingFields = {
  ...input,
  store_id,
  description: null,
  visibility: 'public',
  default_sort_mode: 'created_at_desc',
  media_ids: [],
};
const created: ListingEvent = { type: 'ListingCreated', data: fields };
const deleted: ListingEvent = { type: 'ListingDeleted', data: {} };

const create = { type: 'CreateListing', store_id, input } as const;
const put = { type: 'PutListing', store_id, input } as const;
const remove = { type: 'DeleteListing' } as const;
const update = (changes: ListingChanges) => ({ type: 'UpdateListing', changes }) as const;

describe('creating a listing', () => {
  test('given no events, then it is created with the defaults', () => {
    given([]).when(create).thenAppends([created]);
  });

  test('given the same listing, then nothing is appended', () => {
    given([created]).when(create).thenAppendsNothing();
  });

  test('given another or a deleted listing with this id, then it is rejected', () => {
    given([created])
      .when({ ...create, input: { name: 'Coffees' } })
      .thenRejects('lost_race');
    given([created, deleted]).when(create).thenRejects('listing_not_found');
  });
});

describe('updating a listing', () => {
  const parts: [string, ListingChanges, ListingEvent][] = [
    ['its name', { name: 'Herbs' }, { type: 'ListingDescribed', data: { name: 'Herbs', description: null } }],
    [
      'its description',
      { description: 'All' },
      { type: 'ListingDescribed', data: { name: 'Teas', description: 'All' } },
    ],
    [
      'its visibility',
      { visibility: 'private' },
      { type: 'ListingVisibilityChanged', data: { visibility: 'private' } },
    ],
    [
      'its sort mode',
      { default_sort_mode: 'price_asc' },
      { type: 'ListingSortModeChanged', data: { default_sort_mode: 'price_asc' } },
    ],
    ['its media', { media_ids }, { type: 'ListingMediaArranged', data: { media_ids } }],
  ];

  test.each(parts)(
    'when %s changes, then only its event is appended, and only once',
    (_part, changes, event) => {
      given([created]).when(update(changes)).thenAppends([event]);
      given([created, event]).when(update(changes)).thenAppendsNothing();
    },
  );

  test('when no field differs, then nothing is appended', () => {
    given([created]).when(update({})).thenAppendsNothing();
    given([created]).when(update(fields)).thenAppendsNothing();
  });

  test('given no events or a deletion, then it is not found', () => {
    given([])
      .when(update({ name: 'X' }))
      .thenRejects('listing_not_found');
    given([created, deleted]).when(update({})).thenRejects('listing_not_found');
  });
});

describe('putting a listing', () => {
  test('given no events, then it is created; given a listing, then only what differs changes', () => {
    const hidden: ListingEvent = { type: 'ListingVisibilityChanged', data: { visibility: 'private' } };
    given([]).when(put).thenAppends([created]);
    given([created, hidden]).when(put).thenAppendsNothing();
    given([created, hidden])
      .when({ ...put, input: { name: 'Herbs' } })
      .thenAppends([{ type: 'ListingDescribed', data: { name: 'Herbs', description: null } }]);
  });

  test('given a deletion or a listing of another store, then it is not found', () => {
    given([created, deleted]).when(put).thenRejects('listing_not_found');
    given([created])
      .when({ ...put, store_id: newId() })
      .thenRejects('listing_not_found');
  });
});

describe('deleting a listing', () => {
  test('given a listing, then it is deleted; given no events or a deletion, then it is not found', () => {
    given([created]).when(remove).thenAppends([deleted]);
    given([]).when(remove).thenRejects('listing_not_found');
    given([created, deleted]).when(remove).thenRejects('listing_not_found');
  });
});
