import { dataOfNew, initialValues } from '../../../shared/catalog/fields';
import { publicationFields } from '../../../shared/catalog/publication/fields';
import type { PublicationEvent, PublicationFields } from '../../../shared/catalog/publication/publication';
import {
  decidePublication,
  type PublicationChanges,
  type PublicationInput,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import type { PublicationId } from '../../../shared/kernel/ids';
import { newId, teller } from './support';

const { outcome } = teller(publicationAggregate, decidePublication, newId<PublicationId>());

const store_id = newId();
const listing_id = newId();
const media_ids = [newId(), newId()];

const input: PublicationInput = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const fields: PublicationFields = {
  // Fields of a later day, with their defaults.
  ...dataOfNew<PublicationFields>({}, initialValues(publicationFields), input),
  store_id,
  description: '',
  description_html: null,
  visibility: 'public',
  price_active: true,
  free_shipping: null,
  quantity_available: null,
  featured_position: null,
  listing_id: null,
  media_ids: [],
};
const created: PublicationEvent = { type: 'PublicationCreated', data: fields };
const viewed: PublicationEvent = { type: 'PublicationViewed', data: { count: 3 } };
const deleted: PublicationEvent = { type: 'PublicationDeleted', data: {} };

const create = { type: 'CreatePublication', store_id, input } as const;
const put = { type: 'PutPublication', store_id, input } as const;
const remove = { type: 'DeletePublication' } as const;
const update = (changes: PublicationChanges) => ({ type: 'UpdatePublication', changes }) as const;

describe('creating a publication', () => {
  test('given none, then it is created with the defaults', () => {
    expect(outcome([], create)).toEqual([created]);
  });

  test('given none, when every field is said, then every field is kept', () => {
    const all = {
      ...input,
      description: 'Green',
      description_html: '<p>Green</p>',
      visibility: 'private',
      price_active: false,
      free_shipping: false,
      quantity_available: 0,
      featured_position: 1,
      listing_id,
      media_ids,
    } as const;
    const data = { ...all, store_id, media_ids };
    expect(outcome([], { ...create, input: data })).toEqual([{ type: 'PublicationCreated', data }]);
  });

  test('given the very same, then nothing happens, views notwithstanding', () => {
    expect(outcome([created, viewed], create)).toEqual([]);
  });

  test('given another under the id, then it is refused', () => {
    expect(outcome([created], { ...create, input: { ...input, title: 'Coffee' } })).toBe('lost_race');
    expect(outcome([created], { ...create, store_id: newId() })).toBe('lost_race');
  });

  test('given a deleted one under the id, then it stays deleted', () => {
    expect(outcome([created, deleted], create)).toBe('publication_not_found');
  });
});

describe('updating a publication', () => {
  const parts: [string, Partial<PublicationInput>, PublicationEvent][] = [
    [
      'its words',
      { title: 'Black tea' },
      {
        type: 'PublicationDescribed',
        data: { title: 'Black tea', description: '', description_html: null, free_shipping: null },
      },
    ],
    [
      'its shipping',
      { free_shipping: false },
      {
        type: 'PublicationDescribed',
        data: { title: 'Tea', description: '', description_html: null, free_shipping: false },
      },
    ],
    [
      'its price',
      { price_amount: 0 },
      { type: 'PublicationPriced', data: { price_currency: 'USD', price_amount: 0, price_active: true } },
    ],
    ['its stock', { quantity_available: 0 }, { type: 'PublicationStocked', data: { quantity_available: 0 } }],
    ['its rank', { featured_position: 7 }, { type: 'PublicationFeatured', data: { featured_position: 7 } }],
    [
      'who sees it',
      { visibility: 'private' },
      { type: 'PublicationVisibilityChanged', data: { visibility: 'private' } },
    ],
    ['its listing', { listing_id }, { type: 'PublicationMovedToListing', data: { listing_id } }],
    ['its media', { media_ids }, { type: 'PublicationMediaArranged', data: { media_ids } }],
  ];

  test.each(parts)('when %s changes, then only that is told, and once', (_part, changes, event) => {
    expect(outcome([created], update(changes))).toEqual([event]);
    expect(outcome([created, event], update(changes))).toEqual([]);
  });

  test('when all parts change at once, then one event each', () => {
    const changes = Object.assign({}, ...parts.map(([, change]) => change));
    const decided = outcome([created], update(changes)) as PublicationEvent[];
    expect(decided.map((event) => event.type)).toEqual([
      'PublicationDescribed',
      'PublicationPriced',
      'PublicationStocked',
      'PublicationFeatured',
      'PublicationVisibilityChanged',
      'PublicationMovedToListing',
      'PublicationMediaArranged',
    ]);
  });

  test('when a field that was set becomes null, then it is cleared', () => {
    const full = { ...fields, quantity_available: 3, featured_position: 1, listing_id, free_shipping: true };
    const cleared = { quantity_available: null, featured_position: null, listing_id: null };
    expect(outcome([{ type: 'PublicationCreated', data: full }], update(cleared))).toEqual([
      { type: 'PublicationStocked', data: { quantity_available: null } },
      { type: 'PublicationFeatured', data: { featured_position: null } },
      { type: 'PublicationMovedToListing', data: { listing_id: null } },
    ]);
  });

  test('when the order of its media changes, then it is told', () => {
    const arranged: PublicationEvent = { type: 'PublicationMediaArranged', data: { media_ids } };
    const turned = media_ids.toReversed();
    expect(outcome([created, arranged], update({ media_ids }))).toEqual([]);
    expect(outcome([created, arranged], update({ media_ids: turned }))).toEqual([
      { type: 'PublicationMediaArranged', data: { media_ids: turned } },
    ]);
  });

  test('when nothing is said, or what is already so, then nothing happens', () => {
    expect(outcome([created], update({}))).toEqual([]);
    expect(outcome([created], update(fields))).toEqual([]);
    expect(outcome([created], update({ title: undefined }))).toEqual([]);
  });

  test('given none or a deleted one, then there is nothing to update', () => {
    expect(outcome([], update({ title: 'X' }))).toBe('publication_not_found');
    expect(outcome([created, deleted], update({}))).toBe('publication_not_found');
  });
});

describe('putting a publication', () => {
  test('given none, then it is created', () => {
    expect(outcome([], put)).toEqual([created]);
  });

  test('given it, then what the row says changes and what it does not say stays', () => {
    const moved: PublicationEvent = { type: 'PublicationFeatured', data: { featured_position: 2 } };
    expect(outcome([created, moved], put)).toEqual([]);
    expect(outcome([created, moved], { ...put, input: { ...input, price_amount: 5 } })).toEqual([
      { type: 'PublicationPriced', data: { price_currency: 'USD', price_amount: 5, price_active: true } },
    ]);
  });

  test("given a deleted one or another store's, then it is refused", () => {
    expect(outcome([created, deleted], put)).toBe('publication_not_found');
    expect(outcome([created], { ...put, store_id: newId() })).toBe('publication_not_found');
  });
});

describe('deleting a publication', () => {
  test('given it, then it is deleted', () => {
    expect(outcome([created], remove)).toEqual([deleted]);
  });

  test('given none or a deleted one, then there is nothing to delete', () => {
    expect(outcome([], remove)).toBe('publication_not_found');
    expect(outcome([created, deleted], remove)).toBe('publication_not_found');
  });
});

describe('views of a publication', () => {
  const record = { type: 'RecordViews', count: 3 } as const;

  test('given it, then they are told', () => {
    expect(outcome([created], record)).toEqual([viewed]);
  });

  test('given none or a deleted one, then they are let go', () => {
    expect(outcome([], record)).toEqual([]);
    expect(outcome([created, deleted], record)).toEqual([]);
  });
});
