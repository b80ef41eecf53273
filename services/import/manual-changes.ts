import { ABSENT, type Aggregate, type State } from '../../shared/catalog/events/aggregate';
import { decodeEvent } from '../../shared/catalog/events/codec';
import { isCorrection } from '../../shared/catalog/events/correction';
import type { EventMetadata, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { type Fields, initialValues } from '../../shared/catalog/fields';
import type { Publication } from '../../shared/catalog/publication/publication';
import {
  arrangeVariants,
  type Option,
  summaryOf,
  type Variant,
} from '../../shared/catalog/publication/variants';
import { longTurn } from '../../shared/kernel/async';
import { isSameValue, keyOfTexts } from '../../shared/kernel/same-value';
import { readCorrected } from '../../shared/ports/corrections';
import type { EventStore } from '../../shared/ports/event-store';

/** The fields of an existing resource that a row of the file sets to another value. */
export interface FieldEffects {
  /** Those that got the value of the file. */
  readonly overwritten: readonly string[];
  /** Those that kept their value, because they were changed by hand since the last import. */
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

/** Fields that follow from the variants of a publication, if it has any. */
const OF_VARIANTS = ['price_amount', 'quantity_available'] as const;
const OF_PRICE_AND_STOCK: readonly string[] = [...OF_VARIANTS, 'price_currency'];

const PAGE_EVENTS = 512;

interface HistoryOptions {
  // biome-ignore lint/suspicious/noExplicitAny: of any resource
  readonly aggregate: Pick<Aggregate<any, never, any, never>, 'evolve'>;
  readonly fields: Fields;
  readonly source: EventMetadata['source'];
}

/** What was changed in a resource, and by whom, according to its stream. */
export class FieldHistory {
  private readonly changes = new Map<string, FieldChange[]>();
  /** The values that an import gave last to the fields of variants, by the id of the variant. */
  readonly imported_variants = new Map<string, Record<string, unknown>>();

  private constructor(private readonly initial: Readonly<Record<string, unknown>>) {}

  /** Reads the whole stream. `source` is that of the events that an import has written. */
  static async read(
    events: EventStore,
    stream: StreamName,
    { aggregate, fields, source }: HistoryOptions,
  ): Promise<FieldHistory> {
    const history = new FieldHistory(initialValues(fields));
    let state: State<object> = ABSENT;
    for (let from = 0; ; from += PAGE_EVENTS) {
      const page = await readCorrected(events, stream, from, PAGE_EVENTS);
      for (const [index, event] of page.entries()) {
        if (isCorrection(event)) continue;
        const turn = longTurn();
        if (turn) await turn;
        const by_hand = event.metadata.source !== source;
        const before = valuesIn(state);
        state = aggregate.evolve(state, decodeEvent(event) as never, '' as never, event.metadata.occurred_at);
        const after = valuesIn(state);
        const kept = isFollowed(page, index) ? {} : history.keptInVariant(before.variants, after.variants);
        for (const name in fields)
          if (name in after && !isSameValue(history.current(name), after[name]))
            history.add(name, { value: after[name], by_hand });
        if (!by_hand && before.variants !== after.variants)
          history.addVariants(before.variants, after.variants, kept);
      }
      if (page.length < PAGE_EVENTS) return history;
    }
  }

  /**
   * Returns the values that an import gave last to the fields of the publication that were changed by hand and kept in its
   * first and only variant.
   */
  private keptInVariant(before: readonly Variant[] = [], after: readonly Variant[] = []): object {
    const [variant] = after;
    if (before.length > 0 || after.length !== 1) return {};
    const kept = OF_VARIANTS.filter(
      (name) => this.isChangedByHand(name) && isSameValue(variant![name], this.current(name)),
    );
    return Object.fromEntries(kept.map((name) => [name, this.imported(name)]));
  }

  /** Adds the values that an event of an import has changed, except `kept`, which it took from the publication. */
  private addVariants(
    before: readonly Variant[] = [],
    after: readonly Variant[] = [],
    kept: object = {},
  ): void {
    const old = new Map(before.map((variant) => [variant.id, variant]));
    for (const variant of after) {
      const changed = { ...changedFields(old.get(variant.id), variant), ...kept };
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

  /** Whether the field, or one that belongs to it, has another value than the one that an import gave it last. */
  isChangedByHand(name: string): boolean {
    const names = TOGETHER.find((together) => together.includes(name)) ?? [name];
    return names.some((each) => !isSameValue(this.imported(each), this.current(each)));
  }

  private imported(name: string): unknown {
    const last = this.changesOf(name).findLast(({ by_hand }) => !by_hand);
    return last ? last.value : this.initial[name];
  }

  private current(name: string): unknown {
    const last = this.changesOf(name).at(-1);
    return last ? last.value : this.initial[name];
  }
}

/**
 * Returns `changes` with the values of `before` for the fields that were changed by hand, and the effects. Without
 * `readHistory`, the values of the file are taken for all fields. Reads the history only if fields differ.
 */
export async function keepManualChanges<Changes extends object>(
  before: object,
  changes: Changes,
  readHistory: (() => Promise<FieldHistory>) | undefined,
): Promise<{ readonly changes: Changes; readonly effects: FieldEffects }> {
  const old = before as Values & Partial<Publication>;
  const unmatched = completeVariants(before, changes);
  const differing = differingFields(old, unmatched);
  if (differing.length === 0 || !readHistory)
    return { changes: unmatched, effects: { overwritten: differing, kept: [] } };
  const history = await readHistory();
  const wanted = completeVariants(before, withIds(old.variants, changes, history)) as Values;
  const { variants: file_variants } = wanted;
  // Variants of other options than those of the file cannot be merged.
  const has_own_options =
    history.isChangedByHand('options') && !isSameValue(optionNames(old), optionNames(wanted));
  const is_split = old.variants?.length === 0 && (file_variants?.length ?? 0) > 1;
  const valueAfter = (name: string): unknown => {
    if (name === 'options' || (name === 'variants' && has_own_options))
      return has_own_options ? old[name] : wanted[name];
    if (name === 'variants') return mergeVariants(old as Publication, file_variants!, history);
    if (is_split && OF_PRICE_AND_STOCK.includes(name)) return wanted[name];
    return history.isChangedByHand(name) ? old[name] : wanted[name];
  };
  const names = differingFields(old, wanted);
  const merged = Object.fromEntries(names.map((name) => [name, valueAfter(name)]));
  const after: Values = completeVariants(before, { ...wanted, ...merged });
  return {
    changes: after as Changes,
    effects: {
      overwritten: names.filter((name) => !isSameValue(after[name], old[name])),
      // Values of options that only kept variants have are not reported, because `variants` is.
      kept: names.filter(
        (name) => !isSameValue(after[name], wanted[name]) && (name !== 'options' || has_own_options),
      ),
    },
  };
}

/** Variants of the file. A new one has no id, because only the publication gives ids to new variants. */
interface VariantChanges {
  readonly options?: readonly Option[];
  readonly variants?: readonly Variant[];
  readonly price_amount?: number;
}

type Values = Record<string, unknown> & VariantChanges;

/**
 * Returns the changes with options and variants as they will be stored, so that they can be compared, and with the price
 * and the stock that follow from the variants. A variant without a price has that of the row. Invalid variants stay.
 */
function completeVariants<Changes extends VariantChanges>(before: object, changes: Changes): Changes {
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
  const ids = new Set(publication.variants.map(({ id }) => id));
  const summary: object = summaryOf(arranged.variants) ?? {};
  const is_first = publication.variants.length === 0;
  const following = Object.entries(summary).filter(
    ([name]) => OF_VARIANTS.some((each) => each === name) && (is_first || name in changes),
  );
  return {
    ...changes,
    ...Object.fromEntries(following),
    options: arranged.options,
    variants: arranged.variants.map(({ id, ...fields }) => (ids.has(id) ? { id, ...fields } : fields)),
  };
}

/** Adds the ids of stored variants whose option values were changed by hand, by those that an import gave them. */
function withIds<Changes extends VariantChanges>(
  stored: readonly Variant[] = [],
  changes: Changes,
  { imported_variants }: FieldHistory,
): Changes {
  const { variants } = changes;
  if (!variants) return changes;
  const current = new Set(stored.map(({ option_values }) => keyOfTexts(option_values)));
  const imported = new Map<string, string>();
  for (const { id } of stored) {
    const { option_values } = imported_variants.get(id) ?? {};
    if (!option_values) continue;
    const values = keyOfTexts(option_values);
    if (!imported.has(values)) imported.set(values, id);
  }
  const idOf = (option_values: Variant['option_values'] = {}): string | undefined => {
    const values = keyOfTexts(option_values);
    return current.has(values) ? undefined : imported.get(values);
  };
  return {
    ...changes,
    variants: variants.map((variant) => {
      const id = variant.id ?? idOf(variant.option_values);
      return id === undefined ? variant : { ...variant, id };
    }),
  };
}

/**
 * Returns the variants of the file with what was changed by hand in the stored ones: fields, variants that were added,
 * and variants that were removed. The first and only variant gets the price and the stock of the publication if they
 * were changed by hand.
 */
function mergeVariants(old: Publication, wanted: readonly Variant[], history: FieldHistory): Variant[] {
  const { variants: stored } = old;
  const { imported_variants } = history;
  const by_id = new Map(stored.map((variant) => [variant.id, variant]));
  const removed = new Set(
    [...imported_variants].flatMap(([id, { option_values }]) =>
      by_id.has(id) || !option_values ? [] : [keyOfTexts(option_values)],
    ),
  );
  const merged = wanted.flatMap((variant) => {
    const before = by_id.get(variant.id);
    if (!before) return removed.has(keyOfTexts(variant.option_values)) ? [] : variant;
    const by_hand = changedFields(imported_variants.get(variant.id), before);
    return { ...variant, ...by_hand };
  });
  const wanted_ids = new Set(wanted.map(({ id }) => id));
  const added = stored.filter(({ id }) => !imported_variants.has(id) && !wanted_ids.has(id));
  if (stored.length > 0 || wanted.length !== 1) return [...merged, ...added];
  const kept = OF_VARIANTS.filter((name) => history.isChangedByHand(name));
  return merged.map((variant) => ({
    ...variant,
    ...Object.fromEntries(kept.map((name) => [name, old[name]])),
  }));
}

/** Returns whether the next event of the page adds a variant in the same append. */
function isFollowed(page: readonly RecordedEvent[], index: number): boolean {
  const next = page[index + 1];
  return next?.type === 'VariantAdded' && next.metadata.occurred_at === page[index]!.metadata.occurred_at;
}

function differingFields(old: object, wanted: object): string[] {
  const values = old as Record<string, unknown>;
  return Object.entries(wanted)
    .filter(([name, value]) => value !== undefined && !isSameValue(value, values[name]))
    .map(([name]) => name);
}

function optionNames({ options = [] }: { readonly options?: unknown }): string[] {
  return (options as Option[]).map(({ name }) => name);
}

/** Returns the fields of `variant` that have another value than in `before`. */
function changedFields(before: object | undefined, variant: Variant): Partial<Variant> {
  const old = (before ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(variant).filter(([name, value]) => !isSameValue(value, old[name])),
  );
}

function valuesIn(
  state: State<object>,
): Readonly<Record<string, unknown>> & { readonly variants?: Variant[] } {
  return state.tag === 'present' ? (state.resource as Record<string, unknown>) : {};
}
