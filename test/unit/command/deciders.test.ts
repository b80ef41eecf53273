import { type AccountEvent, accountAggregate } from '../../../shared/catalog/account/account';
import {
  type ApiKeyCommand,
  type ApiKeyEvent,
  apiKeyAggregate,
  type KeyLimits,
  USE_INTERVAL_MS,
} from '../../../shared/catalog/api-key/api-key';
import { ABSENT, type Aggregate, type State } from '../../../shared/catalog/events/aggregate';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../../shared/catalog/events/codec';
import { dataOfNew, initialValues } from '../../../shared/catalog/fields';
import {
  type ListingChanges,
  type ListingEvent,
  type ListingFields,
  listingAggregate,
} from '../../../shared/catalog/listing/listing';
import { type MediaEvent, mediaAggregate } from '../../../shared/catalog/media/media';
import { publicationFields } from '../../../shared/catalog/publication/fields';
import {
  type Publication,
  type PublicationChanges,
  type PublicationEvent,
  type PublicationFields,
  type PublicationInput,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import {
  type Variant,
  type VariantChanges,
  variantFields,
  variantId,
} from '../../../shared/catalog/publication/variants';
import { type ReviewFields, reviewAggregate } from '../../../shared/catalog/review/review';
import {
  type StoreChanges,
  type StoreCommand,
  type StoreEvent,
  storeAggregate,
} from '../../../shared/catalog/store/store';
import type { Condition } from '../../../shared/kernel/errors';
import type { AnyId, PublicationId } from '../../../shared/kernel/ids';
import { AT, anUpload, NOW_MS, newId, somePictures } from './support';

/** The events that a command appends after the given ones, or the condition that rejects it. */
type Story<Event, Command> = readonly [
  story: string,
  given: readonly Event[],
  command: Command,
  outcome: readonly Event[] | Condition,
];

/**
 * Tests each story: also that its events are stored and read unchanged, that a snapshot of the state before them gives
 * the same state after them, and that the same command appends nothing afterwards. Returns what decides.
 */
function decides<Resource, Event extends DomainEvent, Id extends AnyId, Command>(
  aggregate: Aggregate<Resource, Event, Id, Command>,
  stories: readonly Story<Event, Command>[],
) {
  const id = newId<Id>();
  const evolve = (state: State<Resource>, events: readonly Event[]): State<Resource> =>
    events.reduce((before, event) => aggregate.evolve(before, event, id, AT), state);
  const decide = (events: readonly Event[], command: Command): readonly Event[] | Condition => {
    const decision = aggregate.decide(evolve(ABSENT, events), command);
    return decision.ok ? decision.events : decision.condition;
  };
  test.each(stories)('%s', (_story, given, command, outcome) => {
    expect(decide(given, command)).toEqual(outcome);
    if (typeof outcome === 'string' || outcome.length === 0) return;
    expect(outcome.map((event) => decodeEvent(encodeEvent(event)))).toEqual(outcome);
    const snapshot = JSON.parse(JSON.stringify(evolve(ABSENT, given))) as State<Resource>;
    expect(evolve(snapshot, outcome)).toStrictEqual(evolve(ABSENT, [...given, ...outcome]));
    const repeated = decide([...given, ...outcome], command);
    if (typeof repeated !== 'string') expect(repeated).toEqual([]);
  });
  return decide;
}

const store_id = newId();

describe('a publication', () => {
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
    ...{ vendor: 'Acme', product_type: 'Tea', tags: ['green'], attributes: { grams: 100, vegan: true } },
    ...{ compare_at_amount: 1_500, sale_price_amount: 1_000 },
    ...{ sale_from: '2026-11-27T00:00:00.000Z', sale_to: '2026-12-01T00:00:00.000Z' },
    seo: { title: 'Green tea' },
    external_id: 'erp-1',
    handle: 'tea',
    ...{ publish_at: '2026-12-01T00:00:00.000Z', unpublish_at: '2026-12-27T00:00:00.000Z' },
    prices: { EUR: { price_amount: 300, sale_price_amount: 200 } },
  } satisfies PublicationInput;
  const creation = (data: Partial<PublicationFields>): PublicationEvent => ({
    type: 'PublicationCreated',
    data: { ...fields, ...data },
  });
  const created = creation({});
  const full = creation({
    quantity_available: 3,
    featured_position: 1,
    listing_id,
    media_ids,
    free_shipping: true,
  });
  const viewed: PublicationEvent = { type: 'PublicationViewed', data: { count: 3 } };
  const deleted: PublicationEvent = { type: 'PublicationDeleted', data: {} };
  const restored: PublicationEvent = {
    type: 'PublicationRestored',
    data: { store_id, listing_id, media_ids, listing_ids: [] },
  };
  const restore = (days: number) =>
    ({ type: 'Restore', now_ms: Date.parse(AT) + days * 24 * 3_600_000 }) as const;
  const text = { title: 'Tea', description: '', description_html: null, free_shipping: null };
  const create = { type: 'Create', store_id, input } as const;
  const put = { type: 'Put', store_id, input } as const;
  const remove = { type: 'Delete' } as const;
  const interrupt = { type: 'Interrupt', field: 'external_id' } as const;
  const update = (changes: PublicationChanges) => ({ type: 'Update', changes }) as const;

  const parts: [string, PublicationChanges, PublicationEvent][] = [
    ['its text', { title: 'X' }, { type: 'PublicationDescribed', data: { ...text, title: 'X' } }],
    [
      'its price',
      { price_amount: 0 },
      { type: 'PublicationPriced', data: { price_currency: 'USD', price_amount: 0, price_active: true } },
    ],
    ['its stock', { quantity_available: 0 }, { type: 'PublicationStocked', data: { quantity_available: 0 } }],
    ['its rank', { featured_position: 7 }, { type: 'PublicationFeatured', data: { featured_position: 7 } }],
    [
      'its visibility',
      { visibility: 'private' },
      { type: 'PublicationVisibilityChanged', data: { visibility: 'private' } },
    ],
    ['its listing', { listing_id }, { type: 'PublicationMovedToListing', data: { listing_id } }],
    ['its media', { media_ids }, { type: 'PublicationMediaArranged', data: { media_ids } }],
    [
      'its tags',
      { tags: ['green'] },
      {
        type: 'PublicationClassified',
        data: { vendor: null, product_type: null, tags: ['green'], attributes: null },
      },
    ],
    [
      'its sale',
      { sale_price_amount: 0 },
      {
        type: 'PublicationSaleSet',
        data: { compare_at_amount: null, sale_price_amount: 0, sale_from: null, sale_to: null },
      },
    ],
    [
      'its texts for search engines',
      { seo: { title: 'Tea' } },
      { type: 'PublicationSeoSet', data: { seo: { title: 'Tea' } } },
    ],
    [
      'its names',
      { external_id: 'erp-1' },
      { type: 'PublicationNamed', data: { external_id: 'erp-1', handle: null } },
    ],
    [
      'its schedule',
      { publish_at: all.publish_at },
      { type: 'PublicationScheduled', data: { publish_at: all.publish_at, unpublish_at: null } },
    ],
    [
      'its prices',
      { prices: { EUR: { price_amount: 5 } } },
      { type: 'PublicationPricesSet', data: { prices: { EUR: { price_amount: 5 } } } },
    ],
  ];
  const cleared = { quantity_available: null, featured_position: null, listing_id: null };
  const reversed = media_ids.toReversed();

  const decide = decides(publicationAggregate, [
    ['is created with the defaults', [], create, [created]],
    ['is created with every field', [], { ...create, input: all }, [creation({ ...all, media_ids })]],
    [
      'is private until it is published on schedule',
      [],
      { ...create, input: { ...input, publish_at: all.publish_at } },
      [creation({ publish_at: all.publish_at, visibility: 'private' })],
    ],
    ['is not created twice, even with views', [created, viewed], create, []],
    ['is restored', [full, deleted], restore(30), [restored]],
    ['is not restored when it is present', [full, deleted, restored], restore(0), []],
    ['is not restored after 30 days', [full, deleted], restore(31), 'publication_not_found'],
    ['is not restored before its creation', [], restore(0), 'publication_not_found'],
    ['is no other one', [created], { ...create, input: { ...input, title: 'Coffee' } }, 'lost_race'],
    ['is none of another store', [created], { ...create, store_id: newId() }, 'lost_race'],
    ['stays deleted', [created, deleted], create, 'publication_not_found'],
    ...parts.map(([part, changes, event]) => [part, [created], update(changes), [event]] as const),
    [
      'its shipping',
      [created],
      update({ free_shipping: false }),
      [{ type: 'PublicationDescribed', data: { ...text, free_shipping: false } }],
    ],
    [
      'an event for each part',
      [created],
      update(Object.assign({}, ...parts.map(([, changes]) => changes))),
      parts.map(([, , event]) => event),
    ],
    [
      'fields that are cleared',
      [full],
      update(cleared),
      [
        { type: 'PublicationStocked', data: { quantity_available: null } },
        { type: 'PublicationFeatured', data: { featured_position: null } },
        { type: 'PublicationMovedToListing', data: { listing_id: null } },
      ],
    ],
    ['the same media', [full], update({ media_ids }), []],
    [
      'media in another order',
      [full],
      update({ media_ids: reversed }),
      [{ type: 'PublicationMediaArranged', data: { media_ids: reversed } }],
    ],
    ['no change', [created], update({}), []],
    ['the same fields', [created], update(fields), []],
    ['an undefined field', [created], update({ title: undefined }), []],
    ['an update of none', [], update({ title: 'X' }), 'publication_not_found'],
    ['an update of a deleted one', [created, deleted], update({}), 'publication_not_found'],
    ['a row that creates it', [], put, [created]],
    ['a row without a change', [created, viewed], put, []],
    [
      'a row that changes only its own fields',
      [full],
      { ...put, input: { ...input, price_amount: 5 } },
      [{ type: 'PublicationPriced', data: { price_currency: 'USD', price_amount: 5, price_active: true } }],
    ],
    [
      'its rank beside an amount that a release before accepted',
      [
        {
          ...created,
          data: { ...created.data, price_currency: 'JPY', price_amount: 1_250 },
        } as PublicationEvent,
      ],
      update({ featured_position: 7 }),
      [{ type: 'PublicationFeatured', data: { featured_position: 7 } }],
    ],
    ['a row of a deleted one', [created, deleted], put, []],
    ['a row of another store', [created], { ...put, store_id: newId() }, 'publication_not_found'],
    ['its deletion', [created], remove, [deleted]],
    ['its creation after that', [deleted], create, [created]],
    ['a deletion of none', [], remove, 'publication_not_found'],
    ['a second deletion', [created, deleted], remove, 'publication_not_found'],
  ]);

  const publication_id = newId<PublicationId>();
  const LATER = '2026-02-01T00:00:00.000Z';
  const stateAfter = (events: readonly PublicationEvent[]): State<Publication> =>
    events.reduce<State<Publication>>(
      (before, event) => publicationAggregate.evolve(before, event, publication_id, AT),
      ABSENT,
    );

  test.each<[string, PublicationEvent[], PublicationEvent]>([
    [
      'repeats its names',
      [full],
      { type: 'PublicationNamed', data: { external_id: null, handle: null, idle: {} } as never },
    ],
    ['is a deletion without effect if there is none', [], deleted],
    ['is a second deletion if it is deleted', [created, deleted], deleted],
  ])('interrupted %s, each time', (_, given, event) => {
    expect(decide(given, interrupt)).toEqual([event]);
    expect(decide([...given, event], interrupt)).toEqual([event]);
    const before = stateAfter(given);
    expect(publicationAggregate.evolve(before, event, publication_id, LATER)).toEqual(before);
  });

  const variant = (n: number, data: Partial<Variant> = {}): Variant => ({
    ...dataOfNew<Variant>({}, initialValues(variantFields), {}),
    ...{ id: variantId(publication_id, 0, n), option_values: { Size: String(n) }, price_amount: 1_250 },
    position: n + 1,
    ...data,
  });
  const options = [{ name: 'Size', values: ['0', '1'] }];
  const of_sizes = creation({ options, variants: [variant(0), variant(1, { quantity_available: 1 })] });
  const [variant_id, stocked_id] = [variant(0).id, variant(1).id];
  const changed = (data: Partial<Variant>): PublicationEvent => ({
    type: 'VariantChanged',
    data: { variant: variant(0, data) },
  });
  const change = (changes: VariantChanges) => ({ type: 'ChangeVariant', variant_id, changes }) as const;
  const sell = (adjust: number) =>
    ({ type: 'ChangeVariant', variant_id: stocked_id, changes: {}, adjust }) as const;
  const replaced = Array.from({ length: 102 }, (_, n) => variant(n, { price_amount: 1 }));

  decides(publicationAggregate, [
    [
      'is created with variants',
      [],
      {
        ...{ ...create, id: publication_id },
        input: { ...input, variants: [{ option_values: { Size: '0' } }] as unknown as Variant[] },
      },
      [creation({ options: [{ name: 'Size', values: ['0'] }], variants: [variant(0)] })],
    ],
    ['one event for a change of a variant', [of_sizes], change({ sku: 'A' }), [changed({ sku: 'A' })]],
    ['no event for the same values', [of_sizes], change({ sku: null }), []],
    [
      'the price of one below that of the publication',
      [of_sizes],
      change({ price_amount: 1 }),
      [changed({ price_amount: 1 })],
    ],
    ['a change of an unknown variant', [created], change({}), 'variant_not_found'],
    ['values of another variant', [of_sizes], change({ option_values: { Size: '1' } }), 'field_invalid'],
    ['a sale of more than there is', [of_sizes], sell(-2), 'insufficient_stock'],
    ['an adjustment of no stock', [of_sizes], { ...sell(1), variant_id }, 'field_invalid'],
    [
      'its removal',
      [of_sizes],
      { type: 'RemoveVariant', variant_id },
      [{ type: 'VariantRemoved', data: { variant_id } }],
    ],
    [
      'options that keep their variants',
      [of_sizes],
      update({ options: [{ name: 'Number', values: ['1', '0'] }] }),
      [
        { type: 'PublicationOptionsChanged', data: { options: [{ name: 'Number', values: ['1', '0'] }] } },
        changed({ option_values: { Number: '0' } }),
        {
          type: 'VariantChanged',
          data: { variant: variant(1, { option_values: { Number: '1' }, quantity_available: 1 }) },
        },
      ],
    ],
    [
      'one event for a change of more than 100',
      [
        creation({
          options: [{ name: 'Size', values: replaced.map((_, n) => String(n)) }],
          variants: replaced.map((_, n) => variant(n)),
        }),
      ],
      update({ variants: replaced }),
      [{ type: 'VariantsReplaced', data: { variants: replaced } }],
    ],
  ]);
});

describe('a listing', () => {
  const fields: ListingFields = {
    ...{
      store_id,
      name: 'Teas',
      description: null,
      media_ids: [],
      parent_id: null,
      external_id: null,
      handle: null,
      seo: null,
      publish_at: null,
      unpublish_at: null,
    },
    ...{ visibility: 'public', default_sort_mode: 'created_at_desc' },
  };
  const created: ListingEvent = { type: 'ListingCreated', data: fields };
  const media_ids = [newId()];
  const parent_id = newId();
  const parts: [ListingChanges, ListingEvent][] = [
    [{ name: 'Herbs' }, { type: 'ListingDescribed', data: { name: 'Herbs', description: null } }],
    [{ description: 'All' }, { type: 'ListingDescribed', data: { name: 'Teas', description: 'All' } }],
    [{ visibility: 'private' }, { type: 'ListingVisibilityChanged', data: { visibility: 'private' } }],
    [
      { default_sort_mode: 'price_asc' },
      { type: 'ListingSortModeChanged', data: { default_sort_mode: 'price_asc' } },
    ],
    [{ media_ids }, { type: 'ListingMediaArranged', data: { media_ids } }],
    [{ parent_id }, { type: 'ListingMoved', data: { parent_id } }],
    [{ external_id: 'erp-1' }, { type: 'ListingNamed', data: { external_id: 'erp-1', handle: null } }],
    [{ seo: { title: 'Tea' } }, { type: 'ListingSeoSet', data: { seo: { title: 'Tea' } } }],
  ];
  decides(listingAggregate, [
    ['is created with the defaults', [], { type: 'Create', store_id, input: { name: 'Teas' } }, [created]],
    ...parts.map(
      ([changes, event]) =>
        [`its ${Object.keys(changes)[0]}`, [created], { type: 'Update', changes }, [event]] as const,
    ),
  ]);
});

describe('a media', () => {
  const upload = { store_id, ...anUpload() };
  const uploaded: MediaEvent = { type: 'MediaUploaded', data: upload };
  const processed: MediaEvent = { type: 'MediaProcessed', data: somePictures() };
  const failed: MediaEvent = { type: 'MediaFailed', data: { reason: 'damaged' } };
  const deleted: MediaEvent = { type: 'MediaDeleted', data: {} };
  const record = { type: 'RecordPictures', pictures: somePictures() } as const;
  const fail = { type: 'RecordFailure', reason: 'damaged' } as const;
  const remove = { type: 'Delete' } as const;
  decides(mediaAggregate, [
    ['is uploaded', [], { type: 'UploadMedia', upload }, [uploaded]],
    ['is uploaded once', [uploaded], { type: 'UploadMedia', upload }, 'lost_race'],
    ['is not uploaded again', [uploaded, deleted], { type: 'UploadMedia', upload }, 'lost_race'],
    ['becomes ready', [uploaded], record, [processed]],
    ['becomes failed', [uploaded], fail, [failed]],
    ...[[], [uploaded, processed], [uploaded, failed], [uploaded, deleted]].flatMap((given) => [
      [`ignores pictures after ${given.at(-1)?.type}`, given, record, []] as const,
      [`ignores a failure after ${given.at(-1)?.type}`, given, fail, []] as const,
    ]),
    ['its deletion', [uploaded], remove, [deleted]],
    ['its deletion when it is ready', [uploaded, processed], remove, [deleted]],
    ['a second deletion', [uploaded, deleted], remove, 'media_not_found'],
    ['a deletion of none', [], remove, 'media_not_found'],
  ]);
});

describe('a store', () => {
  const input = { account_id: newId(), environment: 'live', name: 'Shop' } as const;
  const profile = { description: null, businessHours: null, contact: null, policies: null, ruc: null };
  const data = { ...input, ...profile, currency: null, new_review_status: null };
  const created: StoreEvent = { type: 'StoreCreated', data };
  const create: StoreCommand = { type: 'CreateStore', input };
  const patch = (changes: StoreChanges): StoreCommand => ({ type: 'DescribeStore', changes });
  const contact = { email: 'a@example.com', phone: '1' };
  const described: StoreEvent = { type: 'StoreDescribed', data: { name: 'Shop', ...profile, contact } };
  const close: StoreCommand = { type: 'ChangeStoreStatus', status: 'inactive' };
  const cash = { payment_method_id: newId(), type: 'cash', name: 'Cash', instructions: null } as const;
  const card = { payment_method_id: newId(), type: 'card', name: 'Card', instructions: 'Any' } as const;
  const add = (method: typeof cash | typeof card, position?: number): StoreCommand => ({
    type: 'AddPaymentMethod',
    method: position === undefined ? method : { ...method, position },
  });
  const added = (method: typeof cash | typeof card, position: number): StoreEvent => ({
    type: 'PaymentMethodAdded',
    data: { ...method, position },
  });
  const { payment_method_id } = cash;
  const removal: StoreCommand = { type: 'RemovePaymentMethod', payment_method_id };
  decides(storeAggregate, [
    ['is created', [], create, [created]],
    [
      'is no other one',
      [created],
      { type: 'CreateStore', input: { ...input, environment: 'test' } },
      'lost_race',
    ],
    ['its profile', [created], patch({ contact }), [described]],
    [
      'fields in another order',
      [created, described],
      patch({ contact: { phone: '1', email: contact.email } }),
      [],
    ],
    ['fields with the same values', [created], patch({ name: 'Shop', ruc: null }), []],
    [
      'the status of new reviews',
      [created],
      patch({ new_review_status: 'pending' }),
      [{ type: 'StoreReviewsConfigured', data: { new_review_status: 'pending' } }],
    ],
    [
      'its currency',
      [created],
      patch({ currency: 'PEN' }),
      [{ type: 'StoreCurrencySet', data: { currency: 'PEN' } }],
    ],
    ['the same status', [created], { type: 'ChangeStoreStatus', status: 'active' }, []],
    ['its status', [created], close, [{ type: 'StoreStatusChanged', data: { status: 'inactive' } }]],
    ['a first payment method', [created], add(cash), [added(cash, 1)]],
    ['a payment method after the last one', [created, added(cash, 7)], add(card), [added(card, 8)]],
    ['a payment method at a position', [created], add(card, 3), [added(card, 3)]],
    [
      'another payment method with the id of one',
      [created, added(cash, 1)],
      { type: 'AddPaymentMethod', method: { ...cash, name: 'Coins' } },
      'field_invalid',
    ],
    [
      'the removal of a payment method',
      [created, added(cash, 1)],
      removal,
      [{ type: 'PaymentMethodRemoved', data: { payment_method_id } }],
    ],
    ...[close, patch({ name: 'X' }), add(cash), removal].map(
      (command) => [`${command.type} of none`, [], command, 'store_not_found'] as const,
    ),
  ]);
});

describe('an account', () => {
  const created: AccountEvent = { type: 'AccountCreated', data: { name: 'Acme' } };
  const suspended: AccountEvent = { type: 'AccountSuspended', data: {} };
  const reinstated: AccountEvent = { type: 'AccountReinstated', data: {} };
  decides(accountAggregate, [
    ['is created', [], { type: 'CreateAccount', name: 'Acme' }, [created]],
    ['is no other one', [created], { type: 'CreateAccount', name: 'Other' }, 'lost_race'],
    ['is suspended', [created], { type: 'SuspendAccount' }, [suspended]],
    ['is reinstated', [created, suspended], { type: 'ReinstateAccount' }, [reinstated]],
    ['is not reinstated if it is active', [created], { type: 'ReinstateAccount' }, []],
    ['a suspension of none', [], { type: 'SuspendAccount' }, 'field_invalid'],
    ['a reinstatement of none', [], { type: 'ReinstateAccount' }, 'field_invalid'],
  ]);
});

describe('an API key', () => {
  const fields = {
    ...{ account_id: newId(), name: 'Web', type: 'public', environment: 'live', stores: [newId()] },
    ...{ permissions: ['read:stores'], key_hash: 'a'.repeat(64), expires_at: null },
  } satisfies Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'];
  const created: ApiKeyEvent = { type: 'ApiKeyCreated', data: fields };
  const create: ApiKeyCommand = { type: 'CreateApiKey', fields };
  const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: {} };
  const used: ApiKeyEvent = { type: 'ApiKeyUsed', data: {} };
  const use = (used_at_ms: number): ApiKeyCommand => ({ type: 'RecordApiKeyUse', used_at_ms });
  const ends = (expires_at: string): ApiKeyEvent => ({ type: 'ApiKeyExpirySet', data: { expires_at } });
  const expire = (expires_at: string): ApiKeyCommand => ({ type: 'ExpireApiKey', expires_at });
  const [earlier, later] = ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'] as const;
  const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
  const set = (limits: KeyLimits | null): ApiKeyEvent => ({ type: 'ApiKeyLimitsSet', data: { limits } });
  const limit = (limits: KeyLimits | null): ApiKeyCommand => ({ type: 'SetApiKeyLimits', limits });
  const born_with: ApiKeyEvent = { type: 'ApiKeyCreated', data: { ...fields, limits } };
  const decide = decides(apiKeyAggregate, [
    ['is created', [], create, [created]],
    ['is no other one', [created], { type: 'CreateApiKey', fields: { ...fields, name: 'X' } }, 'lost_race'],
    ['is revoked', [created], { type: 'RevokeApiKey' }, [revoked]],
    ['gets an expiry', [created], expire(later), [ends(later)]],
    ['gets an earlier expiry', [created, ends(later)], expire(earlier), [ends(earlier)]],
    ['gets no later expiry', [created, ends(earlier)], expire(later), []],
    ['records a use', [created], use(NOW_MS), [used]],
    ['records no other use within five minutes', [created, used], use(NOW_MS + USE_INTERVAL_MS - 1), []],
    ['gets limits', [created], limit(limits), [set(limits)]],
    ['loses its limits', [created, set(limits)], limit(null), [set(null)]],
    ['has no limits to lose', [created], limit(null), []],
    ['has its first limits', [born_with], limit(limits), []],
    ['gets no limits when it is revoked', [created, revoked], limit(limits), 'key_revoked'],
    ...[limit(null), expire(later), { type: 'RevokeApiKey' } as const, use(NOW_MS)].map(
      (command) => [`${command.type} of none`, [], command, 'key_invalid'] as const,
    ),
  ]);

  test('records a use five minutes after the last one', () => {
    expect(decide([created, used], use(NOW_MS + USE_INTERVAL_MS))).toEqual([used]);
  });
});

describe('a review', () => {
  const review: ReviewFields = {
    ...{ store_id, publication_id: newId(), rating: 5, title: null, body: 'Good', author_name: 'Ann' },
    ...{ verified: false, created_at: AT, status: 'pending' },
  };
  const posted = { type: 'ReviewPosted', data: review } as const;
  const deleted = { type: 'ReviewDeleted', data: {} } as const;
  const post = { type: 'PostReview', review } as const;
  const remove = { type: 'Delete' } as const;
  const moderate = (status?: ReviewFields['status']) => ({ type: 'Update', changes: { status } }) as const;
  const { publication_id } = review;
  const moderated = { type: 'ReviewModerated', data: { publication_id, status: 'published' } } as const;
  decides(reviewAggregate, [
    ['is posted', [], post, [posted]],
    ['is posted once', [posted], post, []],
    ['is not posted again after its deletion', [posted, deleted], post, []],
    ['its status', [posted], moderate('published'), [moderated]],
    ['the same status', [posted, moderated], moderate('published'), []],
    ['no status', [posted], moderate(), []],
    ['its deletion', [posted, moderated], remove, [deleted]],
    ...[[], [posted, deleted]].flatMap((given) =>
      [moderate('published'), remove].map(
        (command) => [`${command.type} of none`, given, command, 'review_not_found'] as const,
      ),
    ),
  ]);
});
