import { dataOfNew, initialValues } from '../../../shared/catalog/fields';
import { publicationFields } from '../../../shared/catalog/publication/fields';
import type { PublicationEvent, PublicationFields } from '../../../shared/catalog/publication/publication';
import {
  type PublicationChanges,
  type PublicationInput,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import type { PublicationId } from '../../../shared/kernel/ids';
import { deciderSpec, newId } from './support';

const given = deciderSpec(publicationAggregate, newId<PublicationId>());

const store_id = newId();
const listing_id = newId();
const media_ids = [newId(), newId()];

const input = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 } satisfies PublicationInput;
const fields: PublicationFields = {
  // Defaults of fields that may be added later.
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

const create = { type: 'Create', store_id, input } as const;
const put = { type: 'Put', store_id, input } as const;
const remove = { type: 'Delete' } as const;
const update = (changes: PublicationChanges) => ({ type: 'Update', changes }) as const;

describe('creating a publication', () => {
  test('given no events, then it is created with the defaults', () => {
    given([]).when(create).thenAppends([created]);
  });

  test('given no events, when every field is set, then every field is stored', () => {
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
    const input_data = { ...all, store_id, media_ids };
    const data: PublicationFields = { ...fields, ...input_data };
    given([])
      .when({ ...create, input: input_data })
      .thenAppends([{ type: 'PublicationCreated', data }]);
  });

  test('given the same publication, even with views, then nothing is appended', () => {
    given([created, viewed]).when(create).thenAppendsNothing();
  });

  test('given another publication with this id, then it is rejected', () => {
    given([created])
      .when({ ...create, input: { ...input, title: 'Coffee' } })
      .thenRejects('lost_race');
    given([created])
      .when({ ...create, store_id: newId() })
      .thenRejects('lost_race');
  });

  test('given a deleted publication with this id, then it stays deleted', () => {
    given([created, deleted]).when(create).thenRejects('publication_not_found');
  });
});

describe('updating a publication', () => {
  const parts: [string, Partial<PublicationInput>, PublicationEvent][] = [
    [
      'its text',
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
    [
      'its featured position',
      { featured_position: 7 },
      { type: 'PublicationFeatured', data: { featured_position: 7 } },
    ],
    [
      'its visibility',
      { visibility: 'private' },
      { type: 'PublicationVisibilityChanged', data: { visibility: 'private' } },
    ],
    ['its listing', { listing_id }, { type: 'PublicationMovedToListing', data: { listing_id } }],
    ['its media', { media_ids }, { type: 'PublicationMediaArranged', data: { media_ids } }],
  ];

  test.each(parts)(
    'when %s changes, then only its event is appended, and only once',
    (_part, changes, event) => {
      given([created]).when(update(changes)).thenAppends([event]);
      given([created, event]).when(update(changes)).thenAppendsNothing();
    },
  );

  test('when all parts change at once, then one event is appended for each', () => {
    const changes = Object.assign({}, ...parts.map(([, change]) => change));
    const decided = given([created]).when(update(changes)).outcome as PublicationEvent[];
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

  test('when a field that is set becomes null, then it is cleared', () => {
    const full = { ...fields, quantity_available: 3, featured_position: 1, listing_id, free_shipping: true };
    const cleared = { quantity_available: null, featured_position: null, listing_id: null };
    given([{ type: 'PublicationCreated', data: full }])
      .when(update(cleared))
      .thenAppends([
        { type: 'PublicationStocked', data: { quantity_available: null } },
        { type: 'PublicationFeatured', data: { featured_position: null } },
        { type: 'PublicationMovedToListing', data: { listing_id: null } },
      ]);
  });

  test('when the order of its media changes, then the new order is appended', () => {
    const arranged: PublicationEvent = { type: 'PublicationMediaArranged', data: { media_ids } };
    const reversed = media_ids.toReversed();
    given([created, arranged]).when(update({ media_ids })).thenAppendsNothing();
    given([created, arranged])
      .when(update({ media_ids: reversed }))
      .thenAppends([{ type: 'PublicationMediaArranged', data: { media_ids: reversed } }]);
  });

  test('when no field differs, then nothing is appended', () => {
    given([created]).when(update({})).thenAppendsNothing();
    given([created]).when(update(fields)).thenAppendsNothing();
    given([created])
      .when(update({ title: undefined }))
      .thenAppendsNothing();
  });

  test('given no events or a deletion, then it is not found', () => {
    given([])
      .when(update({ title: 'X' }))
      .thenRejects('publication_not_found');
    given([created, deleted]).when(update({})).thenRejects('publication_not_found');
  });
});

describe('putting a publication', () => {
  test('given no events, then it is created', () => {
    given([]).when(put).thenAppends([created]);
  });

  test('given a publication, then the fields of the row change and others stay', () => {
    const moved: PublicationEvent = { type: 'PublicationFeatured', data: { featured_position: 2 } };
    given([created, moved]).when(put).thenAppendsNothing();
    given([created, moved])
      .when({ ...put, input: { ...input, price_amount: 5 } })
      .thenAppends([
        { type: 'PublicationPriced', data: { price_currency: 'USD', price_amount: 5, price_active: true } },
      ]);
  });

  test('given a deletion, then it stays deleted', () => {
    given([created, deleted]).when(put).thenAppendsNothing();
  });

  test('given a publication of another store, then it is not found', () => {
    given([created])
      .when({ ...put, store_id: newId() })
      .thenRejects('publication_not_found');
  });
});

describe('deleting a publication', () => {
  test('given a publication, then it is deleted', () => {
    given([created]).when(remove).thenAppends([deleted]);
  });

  test('given no events or a deletion, then it is not found', () => {
    given([]).when(remove).thenRejects('publication_not_found');
    given([created, deleted]).when(remove).thenRejects('publication_not_found');
  });
});
