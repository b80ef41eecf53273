import type { Import } from 'catalog-client';
import { formatNumber } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Badge, ProgressBar, type Tone } from '../../ui/feedback';

export const IMPORT_PERMISSIONS = [
  'write:publications',
  'write:listings',
  'write:media',
  'write:reviews',
] as const;

type State = keyof Texts['imports']['states'];

const TONES: Readonly<Record<State, Tone>> = {
  reading: 'info',
  importing: 'info',
  undoing: 'info',
  ready: 'info',
  imported: 'good',
  importedInPart: 'warn',
  undone: 'neutral',
  failed: 'bad',
  stopped: 'warn',
};
const RUNNING = { preview: 'reading', import: 'importing', undo: 'undoing' } as const;

function stateOf({ step, status, report }: Import): State {
  if (status === 'running') return RUNNING[step];
  if (status !== 'done') return status;
  if (step === 'preview') return 'ready';
  if (step === 'undo') return 'undone';
  return report && problemsOf(report) > 0 ? 'importedInPart' : 'imported';
}

/** Returns the number of problems of a report: rows that were not imported or only in part, and parts that were not read. */
export const problemsOf = ({ rows, unread }: NonNullable<Import['report']>): number =>
  Math.max(rows.failed, unread.length);

/** What became of an import. */
export function ImportState({ of }: { readonly of: Import }) {
  const state = stateOf(of);
  return <Badge tone={TONES[state]}>{useTexts().imports.states[state]}</Badge>;
}

/** How far a step is. */
export function StepProgress({ step, progress }: Pick<Import, 'step' | 'progress'>) {
  const t = useTexts();
  const locale = useLocale();
  const { done, total } = progress;
  const counts = t.imports.progress(formatNumber(done, locale), formatNumber(total, locale));
  const label = t.imports.steps[step];
  return <ProgressBar label={total > 0 ? `${label} · ${counts}` : label} done={done} total={total} />;
}
