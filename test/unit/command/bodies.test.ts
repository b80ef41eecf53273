import type { z } from 'zod';
import { newPublicationSchema, publicationPatchSchema } from '../../../services/command/publication';
import { newReviewSchema } from '../../../services/command/review';
import { newPaymentMethodSchema, newStoreSchema } from '../../../services/command/store';
import { listingPatchBody, newListingBody } from '../../../shared/api/requests/writes';
import { parseBody } from '../../../shared/http/validation';
import type { Condition } from '../../../shared/kernel/errors';
import { faultsOf, newId } from './support';

const id = newId();
const ids = (count: number): string[] => Array.from({ length: count }, () => newId());
const text = (length: number): string => 'x'.repeat(length);
/** One code point and two UTF-16 units per character, because limits count code points. */
const emoji = (length: number): string => '😀'.repeat(length);

const publication = { title: 'Tea', price_currency: 'USD', price_amount: 1 };
const listing = { name: 'Teas' };

/** An accepted value of a field. */
type Accepted = [field: string, value: unknown];
/** A rejected value, with the condition, and the path of the fault if it is not the field. */
type Rejected = [field: string, value: unknown, condition: Condition, at?: string];

const visibilities: Accepted[] = [
  ['visibility', 'public'],
  ['visibility', 'private'],
];
const badVisibilities: Rejected[] = [
  ['visibility', 'hidden', 'field_invalid'],
  ['visibility', 'PUBLIC', 'field_invalid'],
  ['visibility', null, 'field_required'],
];

const bodies: {
  name: string;
  schema: z.ZodType;
  base: object;
  accepted: Accepted[];
  rejected: Rejected[];
}[] = [
  {
    name: 'a publication',
    schema: newPublicationSchema,
    base: publication,
    accepted: [
      ...visibilities,
      ['title', text(200)],
      ['title', emoji(200)],
      ['title', 'x'],
      ['description', ''],
      ['description', text(10_000)],
      ['description', emoji(10_000)],
      ['description', 'two\nlines\tand a tab\r\n'],
      ['description', null],
      ['description_html', text(50_000)],
      ['description_html', null],
      ['price_currency', 'PEN'],
      ['price_amount', 0],
      ['price_amount', 99_999_999_999],
      ['price_active', false],
      ['free_shipping', true],
      ['free_shipping', null],
      ['quantity_available', 0],
      ['quantity_available', null],
      ['featured_position', 1],
      ['featured_position', 10_000],
      ['featured_position', null],
      ['listing_id', id],
      ['listing_id', null],
      ['media_ids', []],
      ['media_ids', ids(50)],
      ['media_ids', null],
      ['store_id', id],
      ['store_id', null],
    ],
    rejected: [
      ...badVisibilities,
      ['title', undefined, 'field_required'],
      ['title', null, 'field_required'],
      ['title', '', 'field_too_short'],
      ['title', ' \t ', 'field_too_short'],
      ['title', '\u200b\u00a0', 'field_too_short'],
      ['title', text(201), 'field_too_long'],
      ['title', emoji(201), 'field_too_long'],
      ['title', 'a\u0000b', 'field_invalid'],
      ['title', 'a\nb', 'field_invalid'],
      ['title', 'a\ud800b', 'field_invalid'],
      ['title', 7, 'field_invalid'],
      ['title', ['Tea'], 'field_invalid'],
      ['description', text(10_001), 'field_too_long'],
      ['description', 'a\u0000b', 'field_invalid'],
      ['description_html', text(50_001), 'field_too_long'],
      ['description_html', 'a\u0007', 'field_invalid'],
      ['price_currency', undefined, 'field_required'],
      ['price_currency', null, 'field_required'],
      ['price_currency', 'usd', 'field_invalid'],
      ['price_currency', 'ABC', 'field_invalid'],
      ['price_currency', '', 'field_invalid'],
      ['price_amount', undefined, 'field_required'],
      ['price_amount', null, 'field_required'],
      ['price_amount', -1, 'field_invalid'],
      ['price_amount', 100_000_000_000, 'field_invalid'],
      ['price_amount', 1.5, 'field_invalid'],
      ['price_amount', '1', 'field_invalid'],
      ['price_active', 'yes', 'field_invalid'],
      ['price_active', null, 'field_required'],
      ['free_shipping', 1, 'field_invalid'],
      ['quantity_available', -1, 'field_invalid'],
      ['quantity_available', 0.5, 'field_invalid'],
      ['featured_position', 0, 'field_invalid'],
      ['featured_position', 10_001, 'field_invalid'],
      ['listing_id', 'x', 'field_invalid'],
      ['media_ids', ids(51), 'field_too_long'],
      ['media_ids', ['x'], 'field_invalid', 'media_ids.0'],
      ['media_ids', [id, newId(), id], 'field_invalid', 'media_ids.2'],
      ['media_ids', [id, id.toUpperCase()], 'field_invalid', 'media_ids.1'],
      ['media_ids', id, 'field_invalid'],
      ['store_id', 'x', 'field_invalid'],
      ['colour', 'green', 'field_invalid'],
      ['id', id, 'field_invalid'],
    ],
  },
  {
    name: 'a listing',
    schema: newListingBody,
    base: listing,
    accepted: [
      ...visibilities,
      ['name', text(120)],
      ['name', emoji(120)],
      ['description', text(5_000)],
      ['description', null],
      ['default_sort_mode', 'price_asc'],
      ['media_ids', ids(20)],
      ['media_ids', null],
      ['store_id', id],
      ['store_id', null],
    ],
    rejected: [
      ...badVisibilities,
      ['name', undefined, 'field_required'],
      ['name', null, 'field_required'],
      ['name', '  ', 'field_too_short'],
      ['name', text(121), 'field_too_long'],
      ['name', 'a\u007fb', 'field_invalid'],
      ['description', text(5_001), 'field_too_long'],
      ['default_sort_mode', 'newest', 'field_invalid'],
      ['default_sort_mode', null, 'field_required'],
      ['media_ids', ids(21), 'field_too_long'],
      ['media_ids', [id, id], 'field_invalid', 'media_ids.1'],
      ['title', 'Teas', 'field_invalid'],
    ],
  },
  {
    name: 'a store',
    schema: newStoreSchema,
    base: { name: 'Shop', environment: 'live' },
    accepted: [
      ['contact', { email: 'a@example.com' }],
      ['businessHours', [{ day: 'Mon', hours: '9-5' }]],
      ['policies', {}],
      ['ruc', '20123456789'],
    ],
    rejected: [
      ['name', text(121), 'field_too_long'],
      ['environment', 'prod', 'field_invalid'],
      ['contact', { email: 'nobody' }, 'invalid_email', 'contact.email'],
      ['contact', { fax: '1' }, 'field_invalid', 'contact.fax'],
      ['businessHours', [{ day: 'Mon' }], 'field_required', 'businessHours.0.hours'],
    ],
  },
  {
    name: 'a payment method',
    schema: newPaymentMethodSchema,
    base: { type: 'cash', name: 'Cash' },
    accepted: [
      ['position', 1],
      ['instructions', null],
    ],
    rejected: [
      ['type', 'barter', 'field_invalid'],
      ['name', '', 'field_too_short'],
      ['position', 0, 'field_invalid'],
    ],
  },
  {
    name: 'a review',
    schema: newReviewSchema,
    base: { publication_id: id, rating: 5, author_name: 'Ann' },
    accepted: [
      ['rating', 1],
      ['title', null],
      ['created_at', '2026-01-31T12:00:00+02:00'],
    ],
    rejected: [
      ['rating', 0, 'field_invalid'],
      ['rating', 6, 'field_invalid'],
      ['author_name', ' ', 'field_too_short'],
      ['created_at', 'yesterday', 'field_invalid'],
      ['publication_id', 'x', 'field_invalid'],
    ],
  },
];

/** Shortens a value for a test title. */
const abbreviated = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 24);

describe.each(bodies.map((body) => [body.name, body] as const))('the body of %s', (_name, body) => {
  const { schema, base, accepted, rejected } = body;
  test.each(accepted.map(([field, value]) => [field, abbreviated(value), value] as const))(
    'accepts %s %s',
    (field, _abbreviated, value) => {
      expect(() => parseBody(schema, { ...base, [field]: value })).not.toThrow();
    },
  );

  test.each(rejected.map(([field, value, ...fault]) => [field, abbreviated(value), value, fault] as const))(
    'rejects %s %s',
    async (field, _abbreviated, value, [condition, at]) => {
      const faults = await faultsOf(() => parseBody(schema, { ...base, [field]: value }));
      expect(faults).toEqual([[condition, at ?? field]]);
    },
  );
});

describe('a parsed body', () => {
  test('has trimmed one-line texts, sanitised HTML and ids in lower case', () => {
    const body = {
      ...publication,
      title: '  Green tea ',
      description: ' as sent ',
      description_html: '<p onclick="x()">a</p>',
      listing_id: id.toUpperCase(),
    };
    expect(parseBody(newPublicationSchema, body)).toEqual({
      ...publication,
      title: 'Green tea',
      description: ' as sent ',
      description_html: '<p>a</p>',
      listing_id: id,
    });
  });

  test('has no fields that were not sent', () => {
    expect(parseBody(newPublicationSchema, publication)).toEqual(publication);
    expect(parseBody(publicationPatchSchema, {})).toEqual({});
    expect(parseBody(listingPatchBody, {})).toEqual({});
  });

  test('has the cleared values for null: no HTML, an empty description, no media', () => {
    expect(
      parseBody(publicationPatchSchema, { description: null, description_html: null, media_ids: null }),
    ).toEqual({ description: '', description_html: null, media_ids: [] });
    expect(parseBody(listingPatchBody, { description: null, media_ids: null })).toEqual({
      description: null,
      media_ids: [],
    });
  });

  test('has null as HTML if nothing is left after sanitising', () => {
    const { description_html } = parseBody(publicationPatchSchema, {
      description_html: '<script>x</script>',
    });
    expect(description_html).toBeNull();
  });
});

describe('the body of a patch', () => {
  const not_nullable = [
    ...['title', 'price_currency', 'price_amount', 'price_active', 'visibility'].map(
      (field) => ['publication', field, publicationPatchSchema] as const,
    ),
    ...['name', 'visibility', 'default_sort_mode'].map(
      (field) => ['listing', field, listingPatchBody] as const,
    ),
  ];

  test.each(not_nullable)(
    'of a %s rejects null for %s, which cannot be cleared',
    async (_resource, field, schema) => {
      const body = { [field]: null };
      expect(await faultsOf(() => parseBody<unknown>(schema, body))).toEqual([['field_required', field]]);
    },
  );

  test('rejects an unknown field', async () => {
    expect(await faultsOf(() => parseBody(publicationPatchSchema, { prize: 1, title: 'a' }))).toEqual([
      ['field_invalid', 'prize'],
    ]);
  });

  test('reports every fault', async () => {
    const body = { title: '', price_amount: -1, media_ids: ['x'] };
    expect(await faultsOf(() => parseBody(publicationPatchSchema, body))).toEqual([
      ['field_too_short', 'title'],
      ['field_invalid', 'price_amount'],
      ['field_invalid', 'media_ids.0'],
    ]);
  });
});
