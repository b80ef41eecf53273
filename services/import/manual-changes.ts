import { decodeEvent } from '../../shared/catalog/events/codec';
import type { EventMetadata, StreamName } from '../../shared/catalog/events/envelope';
import { type Fields, initialValues } from '../../shared/catalog/fields';
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

/** What was changed in a resource, and by whom, according to its stream. */
export class FieldHistory {
  private readonly changes = new Map<string, FieldChange[]>();

  private constructor(private readonly initial: Readonly<Record<string, unknown>>) {}

  /** Reads the whole stream. `source` is that of the events that an import has written. */
  static async read(
    events: EventStore,
    stream: StreamName,
    { fields, source }: { readonly fields: Fields; readonly source: EventMetadata['source'] },
  ): Promise<FieldHistory> {
    const history = new FieldHistory(initialValues(fields));
    for (let from = 0; ; from += PAGE_EVENTS) {
      const page = await events.readStream(stream, from, PAGE_EVENTS);
      for (const event of page)
        for (const [name, value] of Object.entries(decodeEvent(event).data)) {
          // An event contains all fields of its type. Only those with another value were changed.
          if (name in fields && !isSameValue(history.current(name), value))
            history.add(name, { value, by_hand: event.metadata.source !== source });
        }
      if (page.length < PAGE_EVENTS) return history;
    }
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
  const kept = differing.filter((name) => history.isChangedByHand(name));
  return {
    changes: { ...changes, ...Object.fromEntries(kept.map((name) => [name, old[name]])) },
    effects: { overwritten: differing.filter((name) => !kept.includes(name)), kept },
  };
}
