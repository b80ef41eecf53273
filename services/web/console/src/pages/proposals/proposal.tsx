import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CatalogApiError, type Proposal } from 'catalog-client';
import { useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { formatAgo, formatTime } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, LinkButton } from '../../ui/button';
import { Banner, ErrorState, Loading, say, sayError, sayFailed } from '../../ui/feedback';
import { TextField } from '../../ui/fields';
import { Card, Facts, Page } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { useKeyNames } from '../keys/use-key-names';
import { ProposalState } from './state';
import { WhatChanges } from './what-changes';
import './proposals.css';

/** Somebody else may decide it meanwhile. */
const REFRESH_MS = 5_000;

export default function ProposalPage({ id }: { readonly id: string }) {
  const t = useTexts();
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ['proposals', 'one', id],
    queryFn: () => client.proposals.get(id),
    refetchInterval: ({ state }) => state.data?.status === 'waiting' && REFRESH_MS,
  });
  if (data) return <Loaded proposal={data} reload={async () => (await refetch()).data} />;
  return (
    <Page title={t.proposals.one} back={['/proposals', t.proposals.title]}>
      {error ? <ErrorState error={error} onRetry={refetch} /> : <Loading />}
    </Page>
  );
}

interface LoadedProps {
  readonly proposal: Proposal;
  readonly reload: () => Promise<Proposal | undefined>;
}

function Loaded({ proposal, reload }: LoadedProps) {
  const t = useTexts();
  const locale = useLocale();
  const names = useKeyNames();
  const { needs_confirmation } = useApi();
  const { key, run, status, result, summary, created_at, expires_at, decided_at, decided_by, reason } =
    proposal;
  const nameOf = (id: string) => names.get(id) ?? t.history.actors.key;
  const is_open = status === 'waiting' || (status === 'confirmed' && !result);
  return (
    <Page
      title={summary}
      back={['/proposals', t.proposals.title]}
      width="form"
      state={<ProposalState of={proposal} />}
      actions={is_open && !needs_confirmation && <Decision proposal={proposal} reload={reload} />}
    >
      {is_open && needs_confirmation && <Banner>{t.proposals.mayNot}</Banner>}
      <Outcome proposal={proposal} />
      <Card>
        <Facts
          facts={[
            [t.proposals.who, nameOf(key)],
            [t.proposals.when, formatTime(created_at, locale)],
            ...(run ? [[t.history.run, <RunLink key="run" run={run} />] as const] : []),
            ...(status === 'waiting' ? [[t.proposals.expires, formatAgo(expires_at, locale)] as const] : []),
            ...(decided_at ? [[t.proposals.decided, formatTime(decided_at, locale)] as const] : []),
            ...(decided_by ? [[t.proposals.decidedBy, nameOf(decided_by)] as const] : []),
            ...(reason ? [[t.proposals.reason, reason] as const] : []),
          ]}
        />
      </Card>
      <WhatChanges proposal={proposal} name={names.get(key)} />
    </Page>
  );
}

const RunLink = ({ run }: { readonly run: string }) => (
  <Link href={`/history?run=${encodeURIComponent(run)}`}>
    <code>{run}</code>
  </Link>
);

/** What became of a confirmed proposal. */
function Outcome({ proposal: { status, run, result } }: { readonly proposal: Proposal }) {
  const t = useTexts();
  if (status !== 'confirmed') return null;
  if (!result) return <Banner tone="warn">{t.proposals.noResult}</Banner>;
  if (result.error) {
    const error = new CatalogApiError(result.status, new Headers(), { error: result.error });
    return (
      <Banner tone="bad" title={t.proposals.refusedTitle}>
        {messageOf(error, t)}
      </Banner>
    );
  }
  return (
    <Banner
      tone="good"
      title={t.proposals.done}
      actions={
        run && (
          <LinkButton icon="undo" href={`/history?run=${encodeURIComponent(run)}`}>
            {t.proposals.undoRun}
          </LinkButton>
        )
      }
    />
  );
}

/** The buttons of a person, who confirms the proposal or rejects it. */
function Decision({ proposal: { id, status }, reload }: LoadedProps) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const [is_rejecting, setRejecting] = useState(false);
  const [reason, setReason] = useState('');
  const decide = useMutation({
    mutationFn: (decision: 'confirm' | 'reject') =>
      decision === 'confirm'
        ? client.proposals.confirm(id)
        : client.proposals.reject(id, reason.trim() === '' ? {} : { reason: reason.trim() }),
    onSuccess: (decided) => {
      queries.setQueryData(['proposals', 'one', id], decided);
      setRejecting(false);
      // The buttons disappear.
      document.getElementById('main')?.focus();
      if (decided.status === 'rejected') say(t.proposals.isRejected);
      else if (!decided.result?.error) say(t.proposals.done);
      void queries.invalidateQueries();
    },
    onError: async (error) => {
      const now = await reload();
      const is_late = error instanceof CatalogApiError && error.status === 409 && now?.status !== 'waiting';
      if (is_late) sayFailed(t.proposals.decidedMeanwhile);
      else sayError(error, t);
    },
  });
  return (
    <>
      {status === 'waiting' && (
        <Button isDisabled={decide.isPending} onPress={() => setRejecting(true)}>
          {t.proposals.reject}
        </Button>
      )}
      <Button
        kind="primary"
        icon="check"
        isPending={decide.isPending}
        onPress={() => decide.mutate('confirm')}
      >
        {t.proposals.confirm}
      </Button>
      <Dialog
        title={t.proposals.rejectTitle}
        isOpen={is_rejecting}
        onClose={() => setRejecting(false)}
        footer={
          <>
            <Button onPress={() => setRejecting(false)}>{t.common.cancel}</Button>
            <Button kind="primary" isPending={decide.isPending} onPress={() => decide.mutate('reject')}>
              {t.proposals.reject}
            </Button>
          </>
        }
      >
        <TextField
          label={t.proposals.reason}
          hint={t.proposals.reasonHint}
          value={reason}
          onChange={setReason}
          autoFocus
        />
      </Dialog>
    </>
  );
}
