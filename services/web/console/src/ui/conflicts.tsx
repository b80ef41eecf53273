import type { Conflict } from '../lib/draft';
import { useTexts } from '../texts/texts';
import { Button } from './button';
import { Banner } from './feedback';
import './conflicts.css';

interface ConflictsProps<Fields extends object> {
  /** Of `useDraft`. */
  readonly draft: {
    readonly conflicts: readonly Conflict<Fields>[];
    readonly keepMine: (field: keyof Fields) => void;
    readonly takeTheirs: (field: keyof Fields) => void;
  };
  readonly labelOf: (field: keyof Fields & string) => string;
  /** Returns a value as a short text. */
  readonly wordsOf: (field: keyof Fields & string, value: unknown) => string;
}

/** The fields that were changed here and by somebody else. Each waits for a decision. Shows nothing if there are none. */
export function ConflictBanner<Fields extends object>({ draft, labelOf, wordsOf }: ConflictsProps<Fields>) {
  const t = useTexts();
  if (draft.conflicts.length === 0) return null;
  return (
    <Banner tone="warn" title={t.product.conflict}>
      <p>{t.product.conflictNote}</p>
      <ul className="list stack tight">
        {draft.conflicts.map(({ field, mine, theirs }) => (
          <li key={field} className="conflict" aria-label={labelOf(field)}>
            <strong>{labelOf(field)}</strong>
            <Button onPress={() => draft.keepMine(field)}>{t.product.keepMine(wordsOf(field, mine))}</Button>
            <Button onPress={() => draft.takeTheirs(field)}>
              {t.product.takeTheirs(wordsOf(field, theirs))}
            </Button>
          </li>
        ))}
      </ul>
    </Banner>
  );
}
