import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { CatalogClient, UndoneRun } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { type Texts, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { ErrorState, Loading, ProgressBar, say, sayError } from '../../ui/feedback';
import { Card } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { UndoReport } from './undo-report';

const countOf = ({ deleted, reverted, restored }: UndoneRun): number => deleted + reverted + restored;

/** Undoes a run, by as many requests as it takes. Returns the whole report; `onProgress` gets the report so far. */
async function undoWhole(
  client: CatalogClient,
  run: string,
  onProgress: (report: UndoneRun) => void = () => {},
): Promise<UndoneRun> {
  let whole = await client.runs.undo(run);
  let is_stuck = false;
  while (!whole.complete && !is_stuck) {
    onProgress(whole);
    const next = await client.runs.undo(run);
    is_stuck = countOf(next) === 0;
    whole = {
      ...next,
      deleted: whole.deleted + next.deleted,
      reverted: whole.reverted + next.reverted,
      restored: whole.restored + next.restored,
    };
  }
  return whole;
}

interface RunCardProps {
  readonly run: string;
  /** The changes that are loaded. */
  readonly count: number;
  readonly hasMore: boolean;
}

/** A run, with the button that undoes it. */
export function RunCard({ run, count, hasMore }: RunCardProps) {
  const t = useTexts();
  const { may } = useApi();
  const [is_asking, setAsking] = useState(false);
  return (
    <Card
      title={t.history.runTitle(run, count, hasMore)}
      actions={
        may('write:publications') && (
          <Button icon="undo" onPress={() => setAsking(true)}>
            {t.history.undoRun}
          </Button>
        )
      }
    >
      <p className="muted">{t.history.runHint}</p>
      {is_asking && <UndoDialog run={run} onClose={() => setAsking(false)} />}
    </Card>
  );
}

/** Says what the undo would do, then does it. */
function UndoDialog({ run, onClose }: { readonly run: string; readonly onClose: () => void }) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const [done, setDone] = useState(0);
  const { data, error, refetch } = useQuery({
    queryKey: ['changes', 'undo', run],
    gcTime: 0,
    queryFn: () => client.runs.undo(run, { dry_run: true }),
  });
  const undo = useMutation({
    mutationFn: () => undoWhole(client, run, (report) => setDone(countOf(report))),
    onSuccess: (report) => {
      onClose();
      say(wordsOf(report, t), async () => {
        const again = await undoWhole(client, `undo-${run}`);
        say(wordsOf(again, t));
        await queries.invalidateQueries();
      });
    },
    onError: (failed) => sayError(failed, t),
    onSettled: () => queries.invalidateQueries(),
  });
  return (
    <Dialog
      title={t.history.undoTitle(run)}
      isOpen
      isDismissable={!undo.isPending}
      onClose={onClose}
      footer={
        <>
          <Button isDisabled={undo.isPending} onPress={onClose}>
            {t.common.cancel}
          </Button>
          <Button
            kind="primary"
            isDisabled={!data || countOf(data) === 0}
            isPending={undo.isPending}
            onPress={() => undo.mutate()}
          >
            {t.history.undoRun}
          </Button>
        </>
      }
    >
      {error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : data ? (
        <UndoReport report={data} />
      ) : (
        <Loading lines={3} />
      )}
      {undo.isPending && (
        <ProgressBar
          label={t.history.undoing}
          done={done}
          total={data?.complete ? countOf(data) : undefined}
        />
      )}
    </Dialog>
  );
}

function wordsOf({ deleted, reverted, restored, kept }: UndoneRun, t: Texts): string {
  const counts = t.history.undoneCounts(reverted, deleted, restored);
  return kept.length > 0 ? `${counts} ${t.history.undoneKept(kept.length)}` : counts;
}
