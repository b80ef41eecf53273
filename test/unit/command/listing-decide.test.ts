import type { ListingEvent, ListingFields } from '../../../shared/catalog/listing/listing';
import { type ListingChanges, listingAggregate } from '../../../shared/catalog/listing/listing';
import type { ListingId } from '../../../shared/kernel/ids';
import { deciderSpec, newId } from './support';

const given = deciderSpec(listingAggregate, newId<ListingId>());

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

const create = { type: 'Create', store_id, input } as const;
const update = (changes: ListingChanges) => ({ type: 'Update', changes }) as const;

describe('creating a listing', () => {
  test('given no events, then it is created with the defaults', () => {
    given([]).when(create).thenAppends([created]);
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
});
