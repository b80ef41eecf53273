import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Import } from 'catalog-client';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Button, IconButton, LinkButton } from '../../ui/button';
import { Banner, ErrorState, Loading, say, sayError } from '../../ui/feedback';
import { Page } from '../../ui/layout';
import { Confirm, Menu } from '../../ui/overlay';
import { Kept } from '../history/undo-report';
import { Reading, type Wanted } from './reading';
import { Report } from './report';
import { ImportState, StepProgress } from './state';
import './imports.css';

/** How often the page reads the import again: while a step runs, and otherwise, because another window may start one. */
const POLL_MS = { running: 500, idle: 5_000 };

const keyOf = (id: string) => ['imports', 'one', id];

/** Shows the state that a step has begun with. A read that began before would show the state before. */
async function keep(queries: QueryClient, next: Import): Promise<void> {
  await queries.cancelQueries({ queryKey: keyOf(next.id) });
  queries.setQueryData(keyOf(next.id), next);
}

export default function ImportPage({ id }: { readonly id: string }) {
  const t = useTexts();
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: keyOf(id),
    queryFn: () => client.imports.get(id),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? POLL_MS.running : POLL_MS.idle),
  });
  if (data) return <Loaded found={data} />;
  return (
    <Page title={t.imports.title} back={['/imports', t.imports.title]}>
      {error ? <ErrorState error={error} onRetry={refetch} /> : <Loading />}
    </Page>
  );
}

const NO_PROGRESS = { done: 0, total: 0 };

/** Starts the steps of an import. */
function useSteps(id: string) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (step: Import['step']) => {
      if (step === 'preview') return client.imports.preview(id);
      return step === 'import' ? client.imports.start(id) : client.imports.undo(id);
    },
    onSuccess: (next) => keep(queries, next),
    onError: (error) => sayError(error, t),
    onSettled: () => queries.invalidateQueries({ queryKey: ['imports'] }),
  });
}

/**
 * Starts a preview for each change of the settings, and collects those that are made while a step runs. `wanted` are the
 * settings that no preview has yet.
 */
function useSettings({ id, status }: Import) {
  const { client } = useApi();
  const queries = useQueryClient();
  const [wanted, setWanted] = useState<Wanted>({});
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (settings: Wanted) => client.imports.preview(id, settings),
    onSuccess: async (next, sent) => {
      await keep(queries, next);
      setWanted((now) => (now === sent ? {} : now));
    },
  });
  const is_waiting = Object.keys(wanted).length > 0;
  const canSend = is_waiting && status !== 'running' && !isPending && !error;
  useEffect(() => {
    if (canSend) mutate(wanted);
  }, [canSend, mutate, wanted]);
  return {
    wanted,
    is_waiting,
    error,
    change: (settings: Wanted) => {
      reset();
      setWanted((now) => ({ ...now, ...settings }));
    },
    tryAgain: reset,
  };
}

function Loaded({ found }: { readonly found: Import }) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [is_deleting, setDeleting] = useState(false);
  const steps = useSteps(found.id);
  const settings = useSettings(found);
  const is_running = found.status === 'running';
  // While the preview follows a change, the page stays as it is: nothing moves under the pointer.
  const last = useRef(found);
  const is_following = is_running && found.step === 'preview' && last.current.status !== 'running';
  if (!is_following) last.current = found;
  const shown = last.current;
  const is_outdated = is_following || settings.is_waiting;
  const remove = useMutation({
    mutationFn: () => client.imports.delete(found.id),
    onSuccess: async () => {
      navigate('/imports');
      say(t.imports.deleted(found.file));
      await queries.invalidateQueries({ queryKey: ['imports', 'list'] });
    },
    onError: (error) => {
      setDeleting(false);
      sayError(error, t);
    },
  });
  const start = (step: Import['step']) => {
    // The button disappears.
    document.getElementById('main')?.focus();
    steps.mutate(step);
  };
  const reading = shown.detected && (
    <Reading
      key="reading"
      detected={shown.detected}
      known={shown.known_columns ?? []}
      settings={{ ...found.settings, ...settings.wanted }}
      isOpen={shown.status === 'failed'}
      isDisabled={shown.status === 'running'}
      onChange={settings.change}
    />
  );
  const report = shown.report && (
    <Report
      key="report"
      of={shown}
      report={shown.report}
      {...(is_outdated && { following: is_following ? found.progress : NO_PROGRESS })}
    />
  );
  return (
    <Page
      title={found.file}
      back={['/imports', t.imports.title]}
      width="form"
      state={<ImportState of={found} />}
      actions={
        <>
          <Menu
            label={t.common.more}
            trigger={<IconButton kind="plain" label={t.common.more} icon="more" />}
            items={[
              {
                id: 'delete',
                icon: 'trash',
                label: t.imports.deleteFile,
                isDanger: true,
                isDisabled: is_running,
                onAction: () => setDeleting(true),
              },
            ]}
          />
          <Actions found={shown} isPending={steps.isPending} isOutdated={is_outdated} onStart={start} />
        </>
      }
    >
      {settings.error && (
        <Banner
          tone="warn"
          title={t.imports.notApplied}
          actions={<Button onPress={settings.tryAgain}>{t.common.tryAgain}</Button>}
        >
          {messageOf(settings.error, t)}
        </Banner>
      )}
      <StepState found={shown} isPending={steps.isPending || is_following} onStart={start} />
      {shown.step === 'preview' ? [reading, report] : [report, reading]}
      <Confirm
        title={t.imports.deleteTitle(found.file)}
        isOpen={is_deleting}
        onClose={() => setDeleting(false)}
        action={t.common.delete}
        onConfirm={() => remove.mutate()}
        isPending={remove.isPending}
      >
        {t.imports.deleteHint}
      </Confirm>
    </Page>
  );
}

interface ActionProps {
  readonly found: Import;
  readonly isPending: boolean;
  readonly onStart: (step: Import['step']) => void;
}

/** Whether the file would change something in the store. */
const changesSomething = ({ report }: Import): boolean =>
  report !== undefined &&
  [report.listings, report.publications, report.reviews, report.media].some(
    ({ created, updated }) => created + updated > 0,
  );

/** The main action: the import of a file with a preview, or its repetition after an undo. And the undo of an import. */
function Actions({ found, isPending, isOutdated, onStart }: ActionProps & { readonly isOutdated: boolean }) {
  const t = useTexts();
  const { step, status, report, was_imported } = found;
  const can_import = step !== 'import' && status === 'done' && report;
  if (status === 'running') return null;
  return (
    <>
      {was_imported && step !== 'undo' && (
        <Button icon="undo" isDisabled={isOutdated} isPending={isPending} onPress={() => onStart('undo')}>
          {t.imports.undo}
        </Button>
      )}
      {can_import && (
        <Button
          kind="primary"
          isDisabled={isOutdated || (step === 'preview' && !changesSomething(found))}
          isPending={isPending}
          onPress={() => onStart('import')}
        >
          {step === 'undo' ? t.imports.startAgain : t.imports.start}
        </Button>
      )}
    </>
  );
}

/** How the last step goes or went, and what can be done about it. */
function StepState({ found, isPending, onStart }: ActionProps) {
  const t = useTexts();
  const { step, status, progress, error, report, undone } = found;
  const repeat = (label: string) => (
    <Button isPending={isPending} onPress={() => onStart(step)}>
      {label}
    </Button>
  );
  if (status === 'running')
    return (
      <div className="import-progress">
        <StepProgress step={step} progress={progress} />
        <p className="muted small">{t.imports.canLeave}</p>
      </div>
    );
  if (status === 'failed')
    return (
      <Banner tone="bad" title={t.imports.failed[step]} actions={repeat(t.common.tryAgain)}>
        <p dir="auto">{error}</p>
        {step === 'preview' && <p>{t.imports.failedPreviewHint}</p>}
      </Banner>
    );
  if (status === 'stopped')
    return (
      <Banner tone="warn" title={t.imports.stopped} actions={repeat(t.imports.goOn)}>
        {t.imports.stoppedHint}
      </Banner>
    );
  if (step === 'undo')
    return (
      <Banner tone="good" title={t.imports.undone}>
        <p>{t.history.undoneCounts(undone?.reverted ?? 0, undone?.deleted ?? 0)}</p>
        {undone && <Kept kept={undone.kept} />}
      </Banner>
    );
  const { created = 0, updated = 0 } = report?.publications ?? {};
  const summary = t.imports.ready(created, updated);
  if (step === 'import')
    return report?.wrote ? (
      <Banner
        tone="good"
        title={summary ? `${t.imports.done}: ${summary}` : t.imports.done}
        actions={<LinkButton href="/products">{t.imports.seeProducts}</LinkButton>}
      >
        {t.imports.undoHint}
      </Banner>
    ) : (
      <Banner title={t.imports.doneNothing} />
    );
  return changesSomething(found) ? null : <Banner title={t.imports.nothing} />;
}
