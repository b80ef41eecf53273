import { ABSENT, type Aggregate, type State } from '../../shared/catalog/events/aggregate';
import { decodeEvent } from '../../shared/catalog/events/codec';
import type { EventMetadata, StreamName } from '../../shared/catalog/events/envelope';
import { type Fields, initialValues } from '../../shared/catalog/fields';
import type { Option, Variant } from '../../shared/catalog/publication/variants';
import { isSameValue } from '../../shared/kernel/same-value';
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

/** Fields that say one thing together. If one was changed by hand, the others are kept, too. */
const TOGETHER = [
  ['price_amount', 'price_currency'],
  ['description', 'description_html'],
];

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
      const page = await events.readStream(stream, from, PAGE_EVENTS);
      for (const event of page) {
        const by_hand = event.metadata.source !== source;
        const before = valuesIn(state);
        state = aggregate.evolve(state, decodeEvent(event) as never, '' as never, event.metadata.occurred_at);
        const after = valuesIn(state);
        for (const name in fields)
          if (name in after && !isSameValue(history.current(name), after[name]))
            history.add(name, { value: after[name], by_hand });
        if (!by_hand && before.variants !== after.variants)
          history.addVariants(before.variants, after.variants);
      }
      if (page.length < PAGE_EVENTS) return history;
    }
  }

  /** Adds the values that an event of an import has changed. */
  private addVariants(before: readonly Variant[] = [], after: readonly Variant[] = []): void {
    const old = new Map(before.map((variant) => [variant.id, variant]));
    for (const variant of after) {
      const changed = changedFields(old.get(variant.id), variant);
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
  changesOf(name: string): readonly FieldChange[] {
    return this.changes.get(name) ?? [];
  }

  /** Whether the field, or one that belongs to it, has another value than the one that an import gave it last. */
  isChangedByHand(name: string): boolean {
    const names = TOGETHER.find((together) => together.includes(name)) ?? [name];
    return names.some((each) => {
      const imported = this.changesOf(each).findLast(({ by_hand }) => !by_hand);
      return !isSameValue(imported ? imported.value : this.initial[each], this.current(each));
    });
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
  const old = before as Record<string, unknown>;
  const differing = Object.entries(changes)
    .filter(([name, value]) => value !== undefined && !isSameValue(value, old[name]))
    .map(([name]) => name);
  if (differing.length === 0 || !readHistory)
    return { changes, effects: { overwritten: differing, kept: [] } };
  const history = await readHistory();
  const wanted = changes as Record<string, unknown>;
  // Variants of other options than those of the file cannot be merged.
  const has_own_options =
    history.isChangedByHand('options') && !isSameValue(optionNames(old), optionNames(wanted));
  const valueAfter = (name: string): unknown => {
    if (name === 'options' || (name === 'variants' && has_own_options))
      return has_own_options ? old[name] : wanted[name];
    if (name === 'variants')
      return mergeVariants(old.variants as Variant[], wanted.variants as Variant[], history);
    return history.isChangedByHand(name) ? old[name] : wanted[name];
  };
  const after = differing.map((name) => [name, valueAfter(name)] as const);
  return {
    changes: { ...changes, ...Object.fromEntries(after) },
    effects: {
      overwritten: after.flatMap(([name, value]) => (isSameValue(value, old[name]) ? [] : name)),
      kept: after.flatMap(([name, value]) => (isSameValue(value, wanted[name]) ? [] : name)),
    },
  };
}

/**
 * Returns the variants of the file with what was changed by hand in the stored ones: fields, variants that were added,
 * and variants that were removed.
 */
function mergeVariants(
  stored: readonly Variant[],
  wanted: readonly Variant[],
  { imported_variants }: FieldHistory,
): Variant[] {
  const by_id = new Map(stored.map((variant) => [variant.id, variant]));
  const removed = [...imported_variants].flatMap(([id, { option_values }]) =>
    by_id.has(id) ? [] : [option_values],
  );
  const merged = wanted.flatMap((variant) => {
    const before = by_id.get(variant.id);
    if (!before) return removed.some((values) => isSameValue(values, variant.option_values)) ? [] : variant;
    const by_hand = changedFields(imported_variants.get(variant.id), before);
    return { ...variant, ...by_hand };
  });
  const added = stored.filter(
    ({ id }) => !imported_variants.has(id) && !wanted.some((variant) => variant.id === id),
  );
  return [...merged, ...added];
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
