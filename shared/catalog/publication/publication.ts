import { z } from 'zod';
import { accept, type Decision, type Rejection, reject, rejectFaults } from '../../kernel/decision';
import { type Fault, invalidField } from '../../kernel/errors';
import type { ListingId, MediaId, PublicationId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
import { type Aggregate, present, type State } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { ERASED, type FieldCommand, type FieldResource, fieldAggregate } from '../field-aggregate';
import {
  type Changes,
  changeEvents,
  changesOf,
  type Input,
  resourceOf,
  responseNames,
  storedShape,
} from '../fields';
import { withInitialVisibility } from '../schedule';
import {
  CURRENCIES_MAX,
  currenciesIn,
  faultsOfAmounts,
  faultsOfCurrencies,
  patchedPrices,
  pricesWith,
} from './currency-prices';
import { type PriceRules, priceRulesSchema, withDerivedPrices, withoutDerivedPrices } from './derived-prices';
import { PUBLICATION_CHANGES, publicationFields } from './fields';
import { lowestPrice, type PriceHistory, shownPrices, withPriceHistory } from './price-history';
import {
  arrangeVariants,
  inOrder,
  OF_VARIANTS,
  priceAndStockOf,
  summaryOf,
  type Variant,
  type VariantChanges,
  variantSchema,
} from './variants';

const fieldEvents = changeEvents(publicationFields, PUBLICATION_CHANGES);

const created = { store_id: z.string(), ...storedShape(publicationFields) };
const price_rules = priceRulesSchema.optional();
const { listing_id, media_ids, listing_ids } = created;

export const publicationEvents = [
  defineEvent('PublicationCreated', z.object({ ...created, price_rules })),
  ...fieldEvents,
  /**
   * Changes of single variants. A write that changes more than `SINGLE_CHANGES_MAX` of them appends `VariantsReplaced`
   * instead, because one event for each would be larger than an append may be.
   */
  defineEvent('VariantAdded', z.object({ variant: variantSchema })),
  defineEvent('VariantChanged', z.object({ variant: variantSchema })),
  defineEvent('VariantRemoved', z.object({ variant_id: z.string() })),
  /** Only in logs of earlier releases. Views are now in streams of their own (`page-views.ts`). */
  defineEvent('PublicationViewed', z.object({ count: z.int().min(1) })),
  /** With the references, because the projection loads the documents that an event names. */
  defineEvent(
    'PublicationRestored',
    z.object({ store_id: created.store_id, listing_id, media_ids, listing_ids, price_rules }),
  ),
  /** How its prices in other currencies follow from the price. Only in stores with such a market. */
  defineEvent('PublicationPriceRulesSet', z.object({ price_rules: priceRulesSchema })),
  defineEvent('PublicationErased', ERASED),
  defineEvent('PublicationDeleted', z.object({})),
] as const;

export type PublicationEvent = EventOf<typeof publicationEvents>;
export type PublicationFields = Extract<PublicationEvent, { type: 'PublicationCreated' }>['data'];

/** The state of a publication after its events. The listing and the media that it refers to may have been deleted. */
export interface Publication
  extends FieldResource<PublicationId>,
    Omit<PublicationFields, 'store_id' | 'listing_id' | 'media_ids'> {
  readonly listing_id: ListingId | null;
  readonly media_ids: readonly MediaId[];
  /** Number of views in this stream, which only earlier releases have appended. */
  readonly view_count: number;
  /** The listings that it has left, the last one first. Absent in a state of an earlier release. */
  readonly former_listings?: readonly string[];
  readonly price_history?: PriceHistory;
}

/** More than the listings of a publication (`listing_ids`). */
const FORMER_LISTINGS_MAX = 100;
const SINGLE_CHANGES_MAX = 100;

/** Values of some fields. A field that is missing stays unchanged. */
export type PublicationChanges = Changes<typeof publicationFields>;
/** Values for a new publication: all required fields and any optional fields. */
export type PublicationInput = Input<typeof publicationFields>;
export type PublicationCommand =
  | FieldCommand<typeof publicationFields>
  | { readonly type: 'AddVariant'; readonly variant: VariantChanges }
  /** `adjust` is added to the stock, instead of setting it. */
  | {
      readonly type: 'ChangeVariant';
      readonly variant_id: string;
      readonly changes: VariantChanges;
      readonly adjust?: number | undefined;
    }
  | { readonly type: 'RemoveVariant'; readonly variant_id: string }
  | { readonly type: 'SetPriceRules'; readonly price_rules: PriceRules };

const withFields = fieldAggregate<typeof publicationFields, Publication, PublicationEvent, PublicationId>({
  category: 'publication',
  state_version: 4,
  not_found: 'publication_not_found',
  fields: publicationFields,
  events: publicationEvents,
  changes: fieldEvents,
  restored: 'PublicationRestored',
  erased: 'PublicationErased',
  initial: { view_count: 0, former_listings: [] },
  evolveOther: (before, event) =>
    event.type === 'PublicationViewed'
      ? { ...before, view_count: before.view_count + event.data.count }
      : undefined,
  complete: (sent, id, before) => {
    const placed = completePlaces(before ? sent : withInitialVisibility(sent), before);
    const completed = 'ok' in placed ? placed : completeVariants(placed, id, before);
    if ('ok' in completed) return completed;
    const faults = faultsOfPrices(completed, before);
    if (faults.length > 0) return rejectFaults(faults);
    const priced = completePrices(completed, before);
    return 'ok' in priced ? priced : checkedSale(priced, before);
  },
});

export const publicationAggregate: Aggregate<
  Publication,
  PublicationEvent,
  PublicationId,
  PublicationCommand
> = {
  ...withFields,
  evolve: (state, event, id, occurred_at) => {
    const evolved = withFields.evolve(state, asReplacement(state, event), id, occurred_at);
    if (evolved.tag !== 'present') return evolved;
    const placed = state.tag === 'present' ? withFormerListings(state.resource, evolved) : evolved;
    const before = state.tag === 'absent' ? undefined : state.resource;
    const after = withDerived(placed, before);
    const resource = withPriceHistory(before, after.resource, occurred_at);
    return resource === after.resource ? after : present(resource);
  },
  decide: (stored, command) => {
    // What follows from a price is not part of a decision.
    const state = stored.tag === 'present' ? present(withoutDerivedPrices(stored.resource)) : stored;
    switch (command.type) {
      case 'AddVariant':
      case 'ChangeVariant':
      case 'RemoveVariant':
        return decideVariant(state, command);
      case 'SetPriceRules': {
        const { price_rules } = command;
        if (state.tag !== 'present' || isSameValue(state.resource.price_rules, price_rules)) return accept();
        return accept({ type: 'PublicationPriceRulesSet', data: { price_rules } });
      }
      default:
        return decideFields(state, command);
    }
  },
};

interface PresentPublication {
  readonly tag: 'present';
  readonly resource: Publication;
}

/** Returns the publication with what follows from other fields. */
function withDerived(after: PresentPublication, before?: Publication): PresentPublication {
  const { listing_id, listing_ids, variants } = after.resource;
  if (listing_id !== null && listing_ids.includes(listing_id))
    return { ...after, resource: { ...after.resource, ...withoutListing(after.resource, listing_id) } };
  const derived = priceAndStockOf(variants);
  const resource = withDerivedPrices(derived ? { ...after.resource, ...derived } : after.resource, before);
  const prices = pricesWith(resource.prices, resource.variants);
  if (prices === resource.prices) return { ...after, resource };
  const { prices: _, ...others } = resource;
  return { ...after, resource: { ...others, ...(prices && { prices }) } };
}

function withFormerListings(before: Publication, after: PresentPublication): PresentPublication {
  const listingsOf = ({ listing_id, listing_ids }: Publication): readonly string[] =>
    listing_id === null ? listing_ids : [listing_id, ...listing_ids];
  const now = listingsOf(after.resource);
  const left = listingsOf(before).filter((id) => !now.includes(id));
  if (left.length === 0) return after;
  const former = [...new Set([...left, ...(before.former_listings ?? [])])].slice(0, FORMER_LISTINGS_MAX);
  return { ...after, resource: { ...after.resource, former_listings: former } };
}

/** Decides a command that sends fields. Splits a small change of the variants into an event for each variant. */
function decideFields(
  state: State<Publication>,
  command: FieldCommand<typeof publicationFields>,
): Decision<PublicationEvent> {
  const decision = withFields.decide(state, command);
  if (!decision.ok || state.tag !== 'present') return decision;
  const { variants } = state.resource;
  const events = decision.events.flatMap((event) =>
    event.type === 'VariantsReplaced' ? changesOfVariants(variants, event) : [event],
  );
  const loses_variants = decision.events.some(
    (event) => event.type === 'VariantsReplaced' && event.data.variants.length === 0,
  );
  return accept(...(loses_variants ? withOwnPrice(state.resource, events) : events));
}

/**
 * Returns the events, which remove all variants, with the price and the stock of the publication: those that were sent, or
 * those that it had. Without this, each removed variant would change them, and those of the last variant would stay.
 */
function withOwnPrice(before: Publication, events: readonly PublicationEvent[]): PublicationEvent[] {
  const isOwn = ({ type }: PublicationEvent): boolean =>
    type === 'PublicationPriced' || type === 'PublicationStocked' || type === 'PublicationPricesSet';
  const others = events.filter((event) => !isOwn(event));
  const after = others.reduce<State<Publication>>(
    (state, event) => publicationAggregate.evolve(state, event, before.id, before.updated_at),
    present(before),
  );
  const { price_amount, quantity_available, prices } = before;
  const sent = events.filter(isOwn).map(({ data }) => data);
  const wanted = Object.assign({ price_amount, quantity_available, prices }, ...sent) as PublicationChanges;
  if (after.tag !== 'present') return [...others];
  return [...others, ...changesOf(fieldEvents, withoutDerivedPrices(after.resource), wanted)];
}

/** Decides a command for one variant: as an update with the whole list, whose faults name only the field. */
function decideVariant(
  state: State<Publication>,
  command: Extract<PublicationCommand, { type: `${string}Variant` }>,
): Decision<PublicationEvent> {
  const is_new = command.type === 'AddVariant';
  if (state.tag !== 'present') return reject(is_new ? 'publication_not_found' : 'variant_not_found');
  const { variants } = state.resource;
  const index = is_new ? variants.length : variants.findIndex(({ id }) => id === command.variant_id);
  if (index === -1) return reject('variant_not_found');
  const list: object[] = [...variants];
  if (command.type === 'RemoveVariant') list.splice(index, 1);
  else if (command.type === 'AddVariant') list.push(command.variant);
  else {
    const { id, quantity_available } = variants[index]!;
    const { adjust, changes } = command;
    if (adjust !== undefined && quantity_available === null)
      return rejectFaults([
        invalidField('quantity_available', 'a number first: the stock of this variant is not tracked'),
      ]);
    const after = { ...variants[index]!, ...withoutUndefined(changes) };
    if (adjust !== undefined) after.quantity_available = quantity_available! + adjust;
    if (adjust !== undefined && adjust < 0 && after.quantity_available! < 0 && !after.allow_backorder)
      return reject('insufficient_stock', `The variant has ${quantity_available} in stock`);
    list[index] = { ...after, id };
  }
  const decision = decideFields(state, { type: 'Update', changes: { variants: list as Variant[] } });
  if (decision.ok || !decision.faults) return decision;
  return rejectFaults(
    decision.faults.map((each) => ({ ...each, field: each.field.replace(`variants.${index}.`, '') })),
  );
}

const withoutUndefined = <Values extends object>(values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values;

/** Returns the places without this listing. A publication that moves to one of its other listings has it once. */
function withoutListing({ listing_ids, featured_positions }: Publication, listing_id: string) {
  const { [listing_id]: _, ...positions } = featured_positions;
  return { listing_ids: listing_ids.filter((id) => id !== listing_id), featured_positions: positions };
}

/** Leaves the main listing out of the others, and positions out that are of none of them. Rejects a sent position of that kind. */
function completePlaces(sent: PublicationChanges, before?: Publication): PublicationChanges | Rejection {
  const { listing_ids, featured_positions: positions } = sent;
  if (!listing_ids && !positions) return sent;
  const main = sent.listing_id === undefined ? before?.listing_id : sent.listing_id;
  const wanted = listing_ids ?? before?.listing_ids ?? [];
  const unknown = Object.keys(positions ?? {}).filter((id) => !wanted.includes(id));
  if (unknown.length > 0)
    return rejectFaults(
      unknown.map((id) => invalidField(`featured_positions.${id}`, 'one of the listing_ids')),
    );
  const others = wanted.filter((id) => id !== main);
  const all = Object.entries(positions ?? before?.featured_positions ?? {});
  const kept = Object.fromEntries(all.filter(([id]) => others.includes(id)));
  return { ...sent, listing_ids: others, featured_positions: kept };
}

/**
 * Completes options and variants, and leaves out a price and a stock that follow from the variants. Rejects another price
 * or stock for a publication that has variants, unless the variants are sent, too.
 */
function completeVariants(
  sent: PublicationChanges,
  id: string,
  before?: Publication,
): PublicationChanges | Rejection {
  const { options, variants, price_amount, media_ids } = sent;
  const has_variants = before !== undefined && before.variants.length > 0;
  if (!options && !variants && !has_variants) return sent;
  if (has_variants && !variants)
    for (const name of OF_VARIANTS)
      if (sent[name] !== undefined && sent[name] !== before[name])
        return rejectFaults([
          invalidField(name, 'no other value than that of its variants, which can be changed'),
        ]);
  // There may be thousands of variants, and nothing that they depend on is sent.
  if (!options && !variants) return { ...sent, price_amount: undefined, quantity_available: undefined };
  const arranged = arrangeVariants(
    id,
    { options, variants },
    {
      options: before?.options ?? [],
      variants: before?.variants ?? [],
      price_amount: price_amount ?? before?.price_amount ?? 0,
      price_currency: currencyAfter(sent, before),
      prices: sent.prices === undefined ? before?.prices : patchedPrices(before?.prices, sent.prices),
      media_ids: media_ids ?? before?.media_ids ?? [],
      version: before?.version ?? 0,
    },
  );
  if (arranged.faults) return rejectFaults(arranged.faults);
  const derived = priceAndStockOf(arranged.variants);
  if (derived && before)
    return { ...sent, ...arranged, price_amount: undefined, quantity_available: undefined };
  return { ...sent, ...arranged, ...derived };
}

const currencyAfter = (sent: PublicationChanges, before?: Publication): string =>
  sent.price_currency ?? before?.price_currency ?? '';

/** Returns what is wrong with the amounts in their currency. With another currency, all of them count as new. */
function faultsOfPrices(values: PublicationChanges, before?: Publication): Fault[] {
  const currency = currencyAfter(values, before);
  const { variants = before?.variants ?? [] } = values;
  const has_new_currency = before !== undefined && currency !== before.price_currency;
  const { price_amount = before?.price_amount ?? 0 } = values;
  const { compare_at_amount = before?.compare_at_amount ?? null } = values;
  const { sale_price_amount = before?.sale_price_amount ?? null } = values;
  const own = { compare_at_amount, sale_price_amount, ...(variants.length === 0 && { price_amount }) };
  const faults = faultsOfAmounts(currency, own, has_new_currency ? {} : before);
  const are_whole = !has_new_currency || variants.every((one) => faultsOfAmounts(currency, one).length === 0);
  return are_whole
    ? faults
    : [...faults, invalidField('price_currency', 'one that has the prices of the variants')];
}

/**
 * Completes the prices in other currencies, or rejects them. With variants, they follow from the variants, so they are left
 * out if nothing else of them changes.
 */
function completePrices(values: PublicationChanges, before?: Publication): PublicationChanges | Rejection {
  const { prices: sent } = values;
  const { variants = before?.variants ?? [] } = values;
  const currency = currencyAfter(values, before);
  const wanted = sent === undefined ? before?.prices : patchedPrices(before?.prices, sent);
  const after = pricesWith(wanted, variants);
  const sold = currenciesIn({ prices: after, variants });
  if (currency !== before?.price_currency && sold.has(currency) && sent?.[currency] === undefined)
    return rejectFaults([invalidField('price_currency', 'a currency that prices does not have')]);
  if (sold.size > CURRENCIES_MAX)
    return rejectFaults([
      invalidField('prices', `at most ${CURRENCIES_MAX} currencies, also of all variants`),
    ]);
  if (sent === undefined) return values;
  const without_variant = Object.keys(wanted ?? {}).filter((each) => sent?.[each] && !after?.[each]);
  const faults = [
    ...without_variant.map((each) =>
      invalidField(`prices.${each}`, 'a currency in which a variant has a price'),
    ),
    ...faultsOfCurrencies(currency, { prices: after }, before),
  ];
  if (faults.length > 0) return rejectFaults(faults);
  const is_unchanged = isSameValue(after, pricesWith(before?.prices, variants));
  return { ...values, prices: is_unchanged ? undefined : (after ?? {}) };
}

/**
 * Rejects a sale price above the price, which is the lowest one of the variants if there are any. An earlier release
 * accepted such prices, so those that the write leaves as they are stay.
 */
function checkedSale(values: PublicationChanges, before?: Publication): PublicationChanges | Rejection {
  const old_sale = before?.sale_price_amount ?? null;
  const { sale_price_amount: sale = old_sale, variants = before?.variants ?? [] } = values;
  if (sale === null) return values;
  const own_price = values.price_amount ?? before?.price_amount ?? 0;
  const price = priceAndStockOf(variants)?.price_amount ?? own_price;
  const is_new_sale = sale !== old_sale;
  const is_unchanged = !is_new_sale && price === before?.price_amount;
  if (sale <= price || is_unchanged) return values;
  return rejectFaults([
    is_new_sale
      ? invalidField('sale_price_amount', 'at most price_amount')
      : invalidField('price_amount', 'at least sale_price_amount, which can be cleared'),
  ]);
}

/** Returns an event for each changed variant, or `replaced` if that are too many. */
function changesOfVariants(
  before: readonly Variant[],
  replaced: Extract<PublicationEvent, { type: 'VariantsReplaced' }>,
): PublicationEvent[] {
  const old = new Map(before.map((variant) => [variant.id, variant]));
  const events: PublicationEvent[] = [];
  for (const variant of replaced.data.variants) {
    const type = old.has(variant.id) ? 'VariantChanged' : 'VariantAdded';
    if (!isSameValue(old.get(variant.id), variant)) events.push({ type, data: { variant } });
    old.delete(variant.id);
  }
  for (const variant_id of old.keys()) events.push({ type: 'VariantRemoved', data: { variant_id } });
  return events.length > SINGLE_CHANGES_MAX ? [replaced] : events;
}

/** Returns the change of a variant as a replacement of the list, and every other event as it is. */
function asReplacement(state: State<Publication>, event: PublicationEvent): PublicationEvent {
  if (state.tag !== 'present') return event;
  const { variants } = state.resource;
  const replacedBy = (removed_id: string, ...added: Variant[]): PublicationEvent => ({
    type: 'VariantsReplaced',
    data: { variants: inOrder([...variants.filter(({ id }) => id !== removed_id), ...added]) },
  });
  switch (event.type) {
    case 'VariantAdded':
    case 'VariantChanged':
      return replacedBy(event.data.variant.id, event.data.variant);
    case 'VariantRemoved':
      return replacedBy(event.data.variant_id);
    default:
      return event;
  }
}

const RESPONSE_NAMES = responseNames(publicationFields);

/** The references that a resource shows. The aggregate may also refer to resources that have been deleted. */
export interface ShownReferences {
  /** Null if the listing does not exist or is hidden. */
  readonly listing_id: string | null;
  /** Those of the other listings that exist and are not hidden. */
  readonly listing_ids: readonly string[];
  readonly media_ids: readonly string[];
}

/** What the document of a publication counts. `rating`: of the published reviews, absent if there are none. */
export type PublicationCounts = {
  readonly view_count: number;
  readonly rating?: { readonly average: number; readonly count: number };
};

/** Returns the average with two decimals, 0 without reviews. */
export const averageOf = ({ count, sum }: { readonly count: number; readonly sum: number }): number =>
  count === 0 ? 0 : Math.round((sum / count) * 100) / 100;

/**
 * Returns the resource with these references. If `counts` is undefined, the resource has no `stats`. `listing_id` is
 * the last field, so that code that reads a document without it can append it.
 */
export function publicationResource(
  publication: Publication,
  { listing_id, listing_ids, media_ids }: ShownReferences,
  counts: PublicationCounts | undefined,
): JsonObject {
  const resource = resourceOf('publication', RESPONSE_NAMES, publication);
  const { options, variants } = publication;
  if (options.length > 0)
    resource.options = options.map(({ name, values }) => ({ name, values: [...values] }));
  const summary = summaryOf(variants);
  if (summary) {
    const { price_range, variant_count, in_stock } = summary;
    Object.assign(resource, { price_range, variant_count, in_stock });
  }
  const lowest = lowestPrice(publication);
  if (lowest !== undefined) resource.lowest_price_30d = lowest;
  if (publication.prices) resource.prices = shownPrices(publication);
  if (counts) {
    const { view_count, rating } = counts;
    resource.stats = { media_count: media_ids.length, view_count, ...(rating && { rating }) };
  }
  resource.media_ids = [...media_ids];
  Object.assign(resource, placesIn(listing_ids, publication.featured_positions));
  if (listing_id !== null) resource.listing_id = listing_id;
  return resource;
}

/** Returns the fields with the other listings, and with the positions in them. No fields if there are none. */
export function placesIn(
  listing_ids: readonly string[],
  positions: Readonly<Record<string, number>>,
): JsonObject {
  const shown = listing_ids.filter((id) => positions[id] !== undefined).map((id) => [id, positions[id]!]);
  return {
    ...(listing_ids.length > 0 && { listing_ids: [...listing_ids] }),
    ...(shown.length > 0 && { featured_positions: Object.fromEntries(shown) }),
  };
}
