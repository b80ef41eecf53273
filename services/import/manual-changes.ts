import { ABSENT, type Aggregate, type State } from '../../shared/catalog/events/aggregate';
import { decodeEvent } from '../../shared/catalog/events/codec';
import { isCorrection } from '../../shared/catalog/events/correction';
import type { EventMetadata, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import type { Fields } from '../../shared/catalog/fields';
import {
  type PricedContent,
  patchedPrices,
  patchToPrices,
} from '../../shared/catalog/publication/currency-prices';
import { withoutDerivedPrices } from '../../shared/catalog/publication/derived-prices';
import type { Publication } from '../../shared/catalog/publication/publication';
import {
  arrangeVariants,
  OF_VARIANTS,
  type Option,
  priceAndStockOf,
  type Variant,
} from '../../shared/catalog/publication/variants';
import { patchTo, type Translated, withTranslations } from '../../shared/catalog/translations';
import { longTurn } from '../../shared/kernel/async';
import { isSameValue, keyOfTexts } from '../../shared/kernel/same-value';
import { readCorrected } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';
import { PRICE_AND_STOCK } from './stored-variants';

/** The fields of an existing resource that a row of the file sets to another value. */
export interface FieldEffects {
  /** Fields that now have the value of the file. */
  readonly overwritten: readonly string[];
  /** Fields that kept their value, because they were changed by hand since the last import. */
  readonly kept: readonly string[];
}

export const NO_EFFECTS: FieldEffects = { overwritten: [], kept: [] };

/** A change of a field to another value. */
interface FieldChange {
  readonly value: unknown;
  /** Whether someone else than an import changed it. */
  readonly by_hand: boolean;
}

/** Who has added and removed the items of a list. */
export interface ItemHistory {
  /** Items that an import has added last. */
  readonly by_import: ReadonlySet<string>;
  /** Items that were removed by hand and not added since. */
  readonly removed_by_hand: ReadonlySet<string>;
  /** Whether the list was ever changed by hand. */
  readonly is_by_hand: boolean;
}

/** Fields that say one thing together. If one was changed by hand, the others are kept, too. */
const TOGETHER = [
  ['price_amount', 'price_currency'],
  ['description', 'description_html'],
];

const PAGE_EVENTS = 512;
/** The state of a resource does not depend on its id, except for the id itself. */
const ANY_ID = '' as never;

interface HistoryOptions {
  // biome-ignore lint/suspicious/noExplicitAny: of any resource
  readonly aggregate: Pick<Aggregate<any, never, any, never>, 'evolve'>;
  readonly fields: Fields;
  readonly source: EventMetadata['source'];
}

/** What was changed in a resource, and by whom, according to its stream. */
export class FieldHistory {
  private readonly changes = new Map<string, FieldChange[]>();
  /** The last values that an import wrote to the fields of variants, by the id of the variant. */
  readonly imported_variants = new Map<string, Record<string, unknown>>();
  private state: State<object> = ABSENT;

  private constructor(private readonly options: HistoryOptions) {}

  /** Reads the whole stream. `source` is that of the events that an import has written. */
  static async read(events: EventStore, stream: StreamName, options: HistoryOptions): Promise<FieldHistory> {
    const history = new FieldHistory(options);
    let event: RecordedEvent | undefined;
    for await (const next of eventsOf(events, stream)) {
      if (event) history.addEvent(event, next);
      event = next;
      const turn = longTurn();
      if (turn) await turn;
    }
    if (event) history.addEvent(event, undefined);
    return history;
  }

  private addEvent(event: RecordedEvent, next: RecordedEvent | undefined): void {
    const { aggregate, fields, source } = this.options;
    const by_hand = event.metadata.source !== source;
    const before = valuesIn(this.state);
    const { occurred_at } = event.metadata;
    this.state = aggregate.evolve(this.state, decodeEvent(event) as never, ANY_ID, occurred_at);
    const after = valuesIn(this.state);
    // An event that adds a variant in the same append has the same time.
    const adds_another = next?.type === 'VariantAdded' && next.metadata.occurred_at === occurred_at;
    const taken_over = adds_another ? {} : this.takenOver(before.variants, after.variants);
    for (const name in fields)
      if (name in after && !isSameValue(this.current(name), after[name]))
        this.add(name, { value: after[name], by_hand });
    if (!by_hand && before.variants !== after.variants)
      this.addVariants(before.variants, after.variants, taken_over);
  }

  /**
   * Returns the imported values of the fields that a first and only variant has taken over from the publication, because
   * they were changed by hand (`mergeVariants`). Example: an import wrote the price 10, a person changed it to 12, and the
   * next import adds the variant. The variant has the price 12, but the imported price is still 10.
   */
  private takenOver(before: readonly Variant[] = [], after: readonly Variant[] = []): object {
    const [variant] = after;
    if (before.length > 0 || after.length !== 1) return {};
    const names = OF_VARIANTS.filter(
      (name) => this.isChangedByHand(name) && isSameValue(variant![name], this.current(name)),
    );
    return Object.fromEntries(names.map((name) => [name, this.imported(name)]));
  }

  /** Adds the values of variants that an event of an import has changed. `taken_over` replaces some of them. */
  private addVariants(
    before: readonly Variant[] = [],
    after: readonly Variant[] = [],
    taken_over: object = {},
  ): void {
    const old = new Map(before.map((variant) => [variant.id, variant]));
    for (const variant of after) {
      const changed = { ...changedFields(old.get(variant.id), variant), ...taken_over };
      if (Object.keys(changed).length > 0)
        this.imported_variants.set(variant.id, { ...this.imported_variants.get(variant.id), ...changed });
      old.delete(variant.id);
    }
    for (const id of old.keys()) this.imported_variants.delete(id);
  }

  private add(name: string, change: FieldChange): void {
    const changes = this.changes.get(name) ?? [];
    changes.push(change);
    this.changes.set(name, changes);
  }

  /** Returns all changes of the field, oldest first. */
  private changesOf(name: string): readonly FieldChange[] {
    return this.changes.get(name) ?? [];
  }

  /** Returns who has added and removed the items of a field that is a list. */
  itemsOf(name: string): ItemHistory {
    const by_import = new Set<string>();
    const removed_by_hand = new Set<string>();
    let before = new Set<string>();
    for (const { value, by_hand } of this.changesOf(name)) {
      const items = new Set(value as readonly string[]);
      for (const item of items) {
        if (before.has(item)) continue;
        if (!by_hand) by_import.add(item);
        removed_by_hand.delete(item);
      }
      for (const item of before) {
        if (items.has(item)) continue;
        by_import.delete(item);
        if (by_hand) removed_by_hand.add(item);
      }
      before = items;
    }
    return { by_import, removed_by_hand, is_by_hand: this.changesOf(name).some(({ by_hand }) => by_hand) };
  }

  /** Whether the field, or a field that belongs to it, has another value than the last one that an import wrote. */
  isChangedByHand(name: string): boolean {
    const names = TOGETHER.find((together) => together.includes(name)) ?? [name];
    return names.some((each) => !isSameValue(this.imported(each), this.current(each)));
  }

  /** Returns the last value that an import wrote, or else the initial value. */
  private imported(name: string): unknown {
    return this.valueOf(
      name,
      this.changesOf(name).findLast(({ by_hand }) => !by_hand),
    );
  }

  private current(name: string): unknown {
    return this.valueOf(name, this.changesOf(name).at(-1));
  }

  private valueOf(name: string, change: FieldChange | undefined): unknown {
    return change ? change.value : this.options.fields[name]?.initial;
  }
}

async function* eventsOf(events: EventStore, stream: StreamName): AsyncGenerator<RecordedEvent> {
  for (let from = 0; ; from += PAGE_EVENTS) {
    const page = await readCorrected(events, stream, from, PAGE_EVENTS);
    yield* page.filter((event) => !isCorrection(event));
    if (page.length < PAGE_EVENTS) return;
  }
}

/**
 * Merges three versions of a resource: the values of the file (`changes`), the last values that an import wrote, and the
 * values now (`before`). Returns `changes` with the values of now for the fields that were changed by hand since the last
 * import, and the effects. Without `readHistory`, all fields get the values of the file. Reads the history only if fields
 * differ.
 */
export async function keepManualChanges<Changes extends object>(
  resource: object,
  changes: Changes,
  readHistory: (() => Promise<FieldHistory>) | undefined,
): Promise<Merged<Changes>> {
  const before = withoutDerivedPrices(resource as Publication);
  // A file may have a part of the translations and of the prices. They are compared as a whole.
  const whole = withPrices(withTranslations(changes, before), before);
  const merged = await mergeManualChanges(before, whole, readHistory);
  const { translations, prices } = merged.changes as Translated & PricedContent;
  const stored = before as Translated & PricedContent;
  const patches = {
    ...(translations !== undefined && { translations: patchTo(translations, stored.translations) }),
    ...(prices !== undefined && { prices: patchToPrices(prices, stored.prices) }),
  };
  return { ...merged, changes: { ...merged.changes, ...patches } };
}

function withPrices<Changes extends object>(changes: Changes, before: PricedContent): Changes {
  const { prices } = changes as PricedContent;
  return prices === undefined ? changes : { ...changes, prices: patchedPrices(before.prices, prices) ?? {} };
}

interface Merged<Changes> {
  readonly changes: Changes;
  readonly effects: FieldEffects;
}

async function mergeManualChanges<Changes extends object>(
  before: object,
  changes: Changes,
  readHistory: (() => Promise<FieldHistory>) | undefined,
): Promise<Merged<Changes>> {
  const now = before as Values & Partial<Publication>;
  const of_file = asStored(before, changes);
  const differing = differingFields(now, of_file);
  if (differing.length === 0 || !readHistory)
    return { changes: of_file, effects: { overwritten: differing, kept: [] } };
  const history = await readHistory();
  const wanted = asStored(before, withIds(now.variants, changes, history)) as Values;
  const names = differingFields(now, wanted);
  const merge = valueMerger(now, wanted, history);
  const merged = Object.fromEntries(names.map((name) => [name, merge(name)]));
  const after: Values = asStored(before, { ...wanted, ...merged });
  const kept = names.filter((name) => !isSameValue(after[name], wanted[name]));
  return {
    changes: after as Changes,
    effects: {
      overwritten: names.filter((name) => !isSameValue(after[name], now[name])),
      // A variant that is kept also keeps its values in `options`. Only `variants` is reported then.
      kept: hasOwnOptions(now, wanted, history) ? kept : kept.filter((name) => name !== 'options'),
    },
  };
}

/**
 * Returns a function that returns the value of a field after the merge. Fields of a publication that depend on variants:
 *
 * | the publication now | the file | options | variants | price and stock |
 * | --- | --- | --- | --- | --- |
 * | has other options, changed by hand | any | now | now | as any other field |
 * | has no variants | several variants | file | merged | file |
 * | anything else | any | file | merged | as any other field |
 */
function valueMerger(now: Values & Partial<Publication>, wanted: Values, history: FieldHistory) {
  const keeps_options = hasOwnOptions(now, wanted, history);
  const is_split = now.variants?.length === 0 && (wanted.variants?.length ?? 0) > 1;
  const of_price_and_stock: readonly string[] = PRICE_AND_STOCK;
  return (name: string): unknown => {
    if (name === 'options') return keeps_options ? now[name] : wanted[name];
    if (name === 'variants')
      return keeps_options ? now[name] : mergeVariants(now as Publication, wanted.variants!, history);
    const is_of_file = is_split && of_price_and_stock.includes(name);
    return is_of_file || !history.isChangedByHand(name) ? wanted[name] : now[name];
  };
}

/** Whether a person has given the publication other options than the file has. Their variants cannot be merged. */
const hasOwnOptions = (now: Values, wanted: Values, history: FieldHistory): boolean =>
  history.isChangedByHand('options') && !isSameValue(optionNames(now), optionNames(wanted));

/** Variants of the file. A new variant has no id, because only the publication gives ids to new variants. */
interface VariantChanges {
  readonly options?: readonly Option[];
  readonly variants?: readonly Variant[];
  readonly price_amount?: number;
}

type Values = Record<string, unknown> & VariantChanges;

/**
 * Returns the changes with options and variants as they will be stored, so that they can be compared, and with the price
 * and the stock that follow from the variants. A variant without a price has that of the row. Returns `changes` unchanged if
 * the variants are invalid; the command refuses them later.
 */
function asStored<Changes extends VariantChanges>(before: object, changes: Changes): Changes {
  const { options, variants, price_amount } = changes;
  if (!options && !variants) return changes;
  const publication = before as Publication;
  const owner = { ...publication, price_amount: price_amount ?? publication.price_amount };
  const priced = variants?.map((variant) => ({
    ...(price_amount !== undefined && { price_amount }),
    ...variant,
  }));
  const arranged = arrangeVariants(publication.id, { options, variants: priced }, owner);
  if (arranged.faults) return changes;
  if (!variants) return { ...changes, options: arranged.options };
  const ids = new Map(publication.variants.map((variant) => [variant.id, variant]));
  const has_none = ids.size === 0;
  const following = Object.entries(priceAndStockOf(arranged.variants) ?? {}).filter(
    ([name]) => has_none || name in changes,
  );
  return {
    ...changes,
    ...Object.fromEntries(following),
    options: arranged.options,
    variants: arranged.variants.map(({ id, ...fields }) => {
      const before = ids.get(id);
      if (!before) return fields;
      // As a patch, because the command merges the prices of a variant with the stored ones.
      const prices = patchToPrices(fields.prices, before.prices);
      return { id, ...fields, ...(Object.keys(prices).length > 0 && { prices }) };
    }),
  };
}

/**
 * Adds ids to the variants of the file whose option values were changed by hand in the store. Such a stored variant is found
 * by the option values that an import wrote to it.
 */
function withIds<Changes extends VariantChanges>(
  stored: readonly Variant[] = [],
  changes: Changes,
  { imported_variants }: FieldHistory,
): Changes {
  const { variants } = changes;
  if (!variants) return changes;
  const current = new Set(stored.map(({ option_values }) => keyOfTexts(option_values)));
  const imported = new Map<string, string>();
  // The first stored variant with imported values counts.
  for (const { id } of stored.toReversed()) {
    const { option_values } = imported_variants.get(id) ?? {};
    if (option_values) imported.set(keyOfTexts(option_values), id);
  }
  return {
    ...changes,
    variants: variants.map((variant) => {
      const values = keyOfTexts(variant.option_values ?? {});
      const id = variant.id ?? (current.has(values) ? undefined : imported.get(values));
      return id === undefined ? variant : { ...variant, id };
    }),
  };
}

/**
 * Returns the variants of the file with what was changed by hand in the stored ones: changed fields, variants that a person
 * has added, and without the variants that a person has removed. If the publication has no variants and the file has one,
 * the variant takes over the price and the stock of the publication that were changed by hand.
 */
function mergeVariants(now: Publication, wanted: readonly Variant[], history: FieldHistory): Variant[] {
  const { variants: stored } = now;
  const { imported_variants } = history;
  const by_id = new Map(stored.map((variant) => [variant.id, variant]));
  const removed_by_hand = new Set(
    [...imported_variants].flatMap(([id, { option_values }]) =>
      by_id.has(id) || !option_values ? [] : [keyOfTexts(option_values)],
    ),
  );
  const merged = wanted.flatMap((variant) => {
    const before = by_id.get(variant.id);
    if (before) return { ...variant, ...changedFields(imported_variants.get(variant.id), before) };
    return removed_by_hand.has(keyOfTexts(variant.option_values)) ? [] : variant;
  });
  const is_only_one = stored.length === 0 && wanted.length === 1;
  if (is_only_one) {
    const names = OF_VARIANTS.filter((name) => history.isChangedByHand(name));
    const taken_over = Object.fromEntries(names.map((name) => [name, now[name]]));
    return merged.map((variant) => ({ ...variant, ...taken_over }));
  }
  const wanted_ids = new Set(wanted.map(({ id }) => id));
  const added_by_hand = stored.filter(({ id }) => !imported_variants.has(id) && !wanted_ids.has(id));
  return [...merged, ...added_by_hand];
}

/** Returns the names of the fields of `wanted` that have another value now. */
function differingFields(now: object, wanted: object): string[] {
  const values = now as Record<string, unknown>;
  return Object.entries(wanted)
    .filter(([name, value]) => value !== undefined && !isSameValue(value, values[name]))
    .map(([name]) => name);
}

function optionNames({ options = [] }: { readonly options?: unknown }): string[] {
  return (options as Option[]).map(({ name }) => name);
}

/** Returns the fields of `variant` that have another value than in `before`. */
function changedFields(before: object | undefined, variant: Variant): Partial<Variant> {
  const names = differingFields(before ?? {}, variant);
  return Object.fromEntries(names.map((name) => [name, variant[name as keyof Variant]]));
}

function valuesIn(
  state: State<object>,
): Readonly<Record<string, unknown>> & { readonly variants?: Variant[] } {
  if (state.tag !== 'present') return {};
  return withoutDerivedPrices(state.resource as Publication) as object as Record<string, unknown>;
}
