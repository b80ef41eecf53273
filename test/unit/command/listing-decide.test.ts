import type { ListingEvent, ListingFields } from '../../../shared/catalog/listing/listing';
import {
  decideListing,
  type ListingChanges,
  listingAggregate,
} from '../../../shared/catalog/listing/listing';
import type { ListingId } from '../../../shared/kernel/ids';
import { newId, teller } from './support';

const { outcome } = teller(listingAggregate, decideListing, newId<ListingId>());

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
  test('given none, then it is created with the defaults', () => {
    expect(outcome([], create)).toEqual([created]);
  });

  test('given the very same, then nothing happens', () => {
    expect(outcome([created], create)).toEqual([]);
  });

  test('given another or a deleted one under the id, then it is refused', () => {
    expect(outcome([created], { ...create, input: { name: 'Coffees' } })).toBe('lost_race');
    expect(outcome([created, deleted], create)).toBe('listing_not_found');
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
      'who sees it',
      { visibility: 'private' },
      { type: 'ListingVisibilityChanged', data: { visibility: 'private' } },
    ],
    [
      'its order',
      { default_sort_mode: 'price_asc' },
      { type: 'ListingSortModeChanged', data: { default_sort_mode: 'price_asc' } },
    ],
    ['its media', { media_ids }, { type: 'ListingMediaArranged', data: { media_ids } }],
  ];

  test.each(parts)('when %s changes, then only that is told, and once', (_part, changes, event) => {
    expect(outcome([created], update(changes))).toEqual([event]);
    expect(outcome([created, event], update(changes))).toEqual([]);
  });

  test('when nothing is said, or what is already so, then nothing happens', () => {
    expect(outcome([created], update({}))).toEqual([]);
    expect(outcome([created], update(fields))).toEqual([]);
  });

  test('given none or a deleted one, then there is nothing to update', () => {
    expect(outcome([], update({ name: 'X' }))).toBe('listing_not_found');
    expect(outcome([created, deleted], update({}))).toBe('listing_not_found');
  });
});

describe('putting a listing', () => {
  test('given none, then it is created; given it, then only what differs changes', () => {
    const hidden: ListingEvent = { type: 'ListingVisibilityChanged', data: { visibility: 'private' } };
    expect(outcome([], put)).toEqual([created]);
    expect(outcome([created, hidden], put)).toEqual([]);
    expect(outcome([created, hidden], { ...put, input: { name: 'Herbs' } })).toEqual([
      { type: 'ListingDescribed', data: { name: 'Herbs', description: null } },
    ]);
  });

  test("given a deleted one or another store's, then it is refused", () => {
    expect(outcome([created, deleted], put)).toBe('listing_not_found');
    expect(outcome([created], { ...put, store_id: newId() })).toBe('listing_not_found');
  });
});

describe('deleting a listing', () => {
  test('given it, then it is deleted; given none or a deleted one, then there is nothing to delete', () => {
    expect(outcome([created], remove)).toEqual([deleted]);
    expect(outcome([], remove)).toBe('listing_not_found');
    expect(outcome([created, deleted], remove)).toBe('listing_not_found');
  });
});
