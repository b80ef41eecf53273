import { useQueryClient } from '@tanstack/react-query';
import { CatalogProposedError } from 'catalog-client';
import { useEffect } from 'react';
import { messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, ProgressBar } from '../../ui/feedback';
import { reasonOf } from './fields';
import { closeJob, useJob } from './work';

/** Names that are listed; the others are only counted. */
const NAMES_MAX = 50;

/** The change of many products that runs or has run last: its progress, then what became of it, and its undo. */
export function JobBanner() {
  const t = useTexts();
  const job = useJob();
  const queries = useQueryClient();
  const state = job?.state;
  useEffect(() => {
    if (state && state !== 'running') void queries.invalidateQueries({ queryKey: ['publications'] });
  }, [state, queries]);
  if (!job) return null;
  const { label, isUndo, done, total, outcome, error } = job;
  if (state === 'running')
    return (
      <Banner
        actions={
          <Button icon="stop" onPress={job.stop}>
            {t.products.stop}
          </Button>
        }
      >
        <ProgressBar label={isUndo ? t.products.undoing(label) : label} done={done} total={total} />
      </Banner>
    );
  const { writes, failed, left } = outcome;
  const refused = failed.filter((each) => !(each.error instanceof CatalogProposedError));
  const tone =
    error || refused.length > 0
      ? 'bad'
      : left.length + failed.length > 0 || state === 'stopped'
        ? 'warn'
        : 'good';
  return (
    <Banner
      tone={tone}
      title={isUndo ? t.products.undoneOf(label) : label}
      actions={
        <>
          {!isUndo && writes.length > 0 && (
            <Button icon="undo" onPress={job.undo}>
              {t.common.undo}
            </Button>
          )}
          <Button kind="quiet" onPress={() => closeJob(job)}>
            {t.common.close}
          </Button>
        </>
      }
    >
      <p>
        {(isUndo ? t.products.jobUndone : t.products.jobDone)(writes.length)}
        {state === 'stopped' && ` ${t.products.jobStopped}`}
        {error !== undefined && ` ${messageOf(error, t)}`}
      </p>
      {left.length > 0 && (
        <Names summary={t.products.jobLeft(left.length)} names={left.map(({ title }) => title)} />
      )}
      {failed.length > 0 && (
        <Names
          summary={t.products.jobFailed(failed.length)}
          names={failed.map(({ title, error: reason }) => `${title}: ${reasonOf(reason, t)}`)}
        />
      )}
    </Banner>
  );
}

const Names = ({ summary, names }: { readonly summary: string; readonly names: readonly string[] }) => (
  <details open={names.length <= 3}>
    <summary>{summary}</summary>
    <ul className="job-names">
      {names.slice(0, NAMES_MAX).map((name, index) => (
        <li key={`${String(index)} ${name}`} dir="auto">
          {name}
        </li>
      ))}
    </ul>
  </details>
);
