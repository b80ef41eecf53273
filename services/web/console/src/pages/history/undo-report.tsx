import type { UndoneRun } from 'catalog-client';
import { Link } from 'wouter';
import { useTexts } from '../../texts/texts';

const HREFS: Readonly<Record<string, (id: string) => string>> = {
  publication: (id) => `/products/${id}`,
  listing: (id) => `/listings/${id}`,
  media: () => '/media',
  review: () => '/reviews',
  store: () => '/store',
  webhook: (id) => `/webhooks/${id}`,
};

/** What an undo would do, and what stays as it is. */
export function UndoReport({ report }: { readonly report: UndoneRun }) {
  const t = useTexts();
  const { deleted, reverted, restored, kept, complete } = report;
  return (
    <div className="stack tight">
      <p>{t.history.undoCounts(reverted, deleted, restored)}</p>
      <Kept kept={kept} />
      {!complete && <p className="muted">{t.history.undoMore}</p>}
    </div>
  );
}

/** What stays as it is, with the reasons. */
export function Kept({ kept }: Pick<UndoneRun, 'kept'>) {
  const t = useTexts();
  const reasons: Readonly<Record<string, string>> = t.history.keptReasons;
  if (kept.length === 0) return null;
  const title = t.history.undoKeeps(kept.length);
  return (
    <>
      <p>{title}</p>
      <ul className="list" aria-label={title}>
        {kept.map(({ kind, id, title, reason }) => (
          <li key={`${kind} ${id}`} className="row">
            <Link href={HREFS[kind]?.(id) ?? '/history'} dir="auto">
              {title}
            </Link>
            <span className="muted small">{reasons[reason] ?? reason}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
