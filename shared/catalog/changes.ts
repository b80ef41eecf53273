import type { StoreId } from '../kernel/ids';
import { isSameValue } from '../kernel/same-value';
import type { State } from './events/aggregate';
import type { DomainEvent } from './events/codec';
import type { Category, EventMetadata, JsonObject, JsonValue } from './events/envelope';
import { listingAggregate } from './listing/listing';
import { mediaAggregate } from './media/media';
import { publicationAggregate } from './publication/publication';
import type { Variant } from './publication/variants';
import { reviewAggregate } from './review/review';
import { storeAggregate } from './store/store';

/** The resources whose changes a store can follow. The changes of a variant are events of its publication. */
export const CHANGED_RESOURCES = ['store', 'listing', 'publication', 'variant', 'media', 'review'] as const;
export type ChangedResource = (typeof CHANGED_RESOURCES)[number];

/** Where a reader begins: with the first change of the log (`-1`), with the next one (`now`), or after a change. */
export const CHANGE_OFFSET = /^(-1|now|\d{20}-[0-9a-f]{8})$/;
/** As `CHANGE_OFFSET`, or among the existing resources: with the first resource (`snapshot`), or after the one behind the `~`. */
export const OFFSET = /^(-1|now|snapshot|\d{20}-[0-9a-f]{8}(~\d[0-9a-f-]{0,36})?)$/;

/** A place in the history of a store: before the change with this id. */
export const HISTORY_CURSOR = /^\d{20}-[0-9a-f]{8}$/;

export const CHANGE_VERBS = ['created', 'updated', 'deleted', 'restored'] as const;

/** The types of changes, such as `publication.updated`. */
export const CHANGE_TYPES = CHANGED_RESOURCES.flatMap((resource) =>
  CHANGE_VERBS.map((verb) => `${resource}.${verb}` as const),
);

/** A resource refers only to resources of the categories above its own, and to its own. */
const AGGREGATES = {
  store: storeAggregate,
  media: mediaAggregate,
  listing: listingAggregate,
  publication: publicationAggregate,
  review: reviewAggregate,
};
export type ChangedCategory = keyof typeof AGGREGATES;
export const CHANGED_CATEGORIES = Object.keys(AGGREGATES) as ChangedCategory[];

/** The aggregate of a category, for events of any type. */
export interface ChangingAggregate {
  readonly category: Category;
  readonly events: (typeof storeAggregate)['events'];
  readonly state_version: number;
  evolve(state: State<Resource>, event: DomainEvent, id: string, occurred_at: string): State<Resource>;
}

/** Returns the aggregate whose changes can be followed, undefined for other categories. */
export const changingAggregate = (category: Category): ChangingAggregate | undefined =>
  Object.hasOwn(AGGREGATES, category)
    ? (AGGREGATES[category as ChangedCategory] as unknown as ChangingAggregate)
    : undefined;

type Resource = { readonly store_id: StoreId } & Readonly<Record<string, unknown>>;
type Values = Readonly<Record<string, JsonValue>>;

/** Fields that each change changes, that never change, or that only the service uses. */
const NOT_SHOWN = new Set(
  'id store_id account_id environment version created_at updated_at view_count former_listings price_history price_rules derives hash progress'.split(
    ' ',
  ),
);

/** The change that an event has made. `changed` has the values before and after by field, null for none. */
export interface Change {
  readonly resource: ChangedResource;
  readonly resource_id: string;
  readonly verb: (typeof CHANGE_VERBS)[number];
  readonly changed: Readonly<Record<string, { readonly before: JsonValue; readonly after: JsonValue }>>;
}

/**
 * Returns the change that an event has made between two states of its stream. Returns undefined if the event has changed
 * nothing, for example if it only interrupts another write. The change of a deletion or a restoration names no fields.
 */
export function changeOf(
  category: ChangedCategory,
  id: string,
  event: DomainEvent,
  before: State<Resource>,
  after: State<Resource>,
): Change | undefined {
  const variant_id = variantOf(event);
  if (variant_id !== undefined) {
    const [old_values, new_values] = [before, after].map((state) => variantIn(state, variant_id));
    const verb = !old_values ? 'created' : !new_values ? 'deleted' : 'updated';
    return changeIn('variant', variant_id, verb, old_values, new_values);
  }
  if (after.tag === 'deleted')
    return before.tag === 'present' ? changeIn(category, id, 'deleted') : undefined;
  // Another write has taken a name from a creation that did not end. The resource never existed.
  if (after.tag === 'absent') return undefined;
  if (before.tag === 'deleted') return changeIn(category, id, 'restored');
  return changeIn(category, id, before.tag === 'absent' ? 'created' : 'updated', shown(before), shown(after));
}

/** Returns the fields of a resource as its creation would show them, if it were created as it is now. */
export const fieldsAsCreated = (state: State<Resource>): Change['changed'] => changedFields({}, shown(state));

function changeIn(
  resource: ChangedResource,
  resource_id: string,
  verb: Change['verb'],
  before: Values = {},
  after: Values = {},
): Change | undefined {
  const changed = verb === 'deleted' ? {} : changedFields(before, after);
  if (verb === 'updated' && Object.keys(changed).length === 0) return undefined;
  return { resource, resource_id, verb, changed };
}

function changedFields(before: Values, after: Values): Change['changed'] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names
      .map((name) => [name, valuesOf(name, before[name] ?? null, after[name] ?? null)] as const)
      .filter(([, values]) => !isSameValue(values.before, values.after)),
  );
}

/** Fields with an entry for each language or currency. */
const WITH_ENTRIES = new Set(['translations', 'prices']);

/**
 * Returns both values of a field. Of a list of variants, returns only the variants that differ: a list may have 2,048. Of
 * translations and prices, returns only the languages or currencies that differ.
 */
function valuesOf(
  name: string,
  before: JsonValue,
  after: JsonValue,
): { before: JsonValue; after: JsonValue } {
  if (WITH_ENTRIES.has(name) && before !== null && after !== null)
    return { before: entriesNotIn(after, before), after: entriesNotIn(before, after) };
  if (name !== 'variants' || !Array.isArray(before) || !Array.isArray(after)) return { before, after };
  const idOf = (variant: JsonValue): unknown => (variant as JsonObject).id;
  const without = (list: JsonValue[], other: JsonValue[]) => {
    const by_id = new Map(other.map((each) => [idOf(each), each]));
    return list.filter((one) => !isSameValue(one, by_id.get(idOf(one))));
  };
  return { before: without(before, after), after: without(after, before) };
}

/** Returns the entries of an object that `other` does not have, or has with another value. */
function entriesNotIn(other: JsonValue, value: JsonValue): JsonValue {
  const others = other as JsonObject;
  return Object.fromEntries(
    Object.entries(value as JsonObject).filter(([name, entry]) => !isSameValue(entry, others[name])),
  );
}

/** Returns the fields of a resource that its changes show, none if it does not exist. */
function shown(state: State<Resource>): Values {
  if (state.tag !== 'present') return {};
  const { progress, ...resource } = state.resource;
  const fields = Object.entries(resource).filter(([name]) => !NOT_SHOWN.has(name));
  const status = progress ? { status: (progress as { status: string }).status } : {};
  return { ...(Object.fromEntries(fields) as Values), ...status };
}

/** Returns the variant that an event is about, undefined for other events. */
function variantOf(event: DomainEvent): string | undefined {
  switch (event.type) {
    case 'VariantAdded':
    case 'VariantChanged':
      return event.data.variant.id;
    case 'VariantRemoved':
      return event.data.variant_id;
    default:
      return undefined;
  }
}

function variantIn(state: State<Resource>, variant_id: string): Values | undefined {
  if (state.tag !== 'present') return undefined;
  const variant = (state.resource.variants as readonly Variant[]).find(({ id }) => id === variant_id);
  if (!variant) return undefined;
  const { id: _, ...values } = variant;
  return values as unknown as Values;
}

export const ACTOR_TYPES = ['key', 'import', 'operator', 'schedule', 'system'] as const;

/** Who has caused a change. `id`: of the API key. */
export interface Actor {
  readonly type: (typeof ACTOR_TYPES)[number];
  readonly id?: string;
}

export function actorOf({ source, api_key_id }: EventMetadata): Actor {
  if (source === 'api') return { type: 'key', ...(api_key_id !== undefined && { id: api_key_id }) };
  return { type: source === 'cli' ? 'operator' : source };
}
