import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page } from '../../ui/layout';
import { Table } from '../../ui/table';
import type { DeadLetters, WaitingStream } from './api';
import { Moment, StreamLink } from './parts';
import { type Action, DEAD_LETTERS, Release, ReleaseButtons, type Waiting } from './release';

const EVERY_MS = 5_000;
/** How many streams of a group are shown at first. */
const SHOWN_AT_FIRST = 10;

/** The streams that wait because an event could not be projected, by the kind of the error. */
export default function DeadLettersPage() {
  const t = useTexts();
  const [asked, setAsked] = useState<{ action: Action; waiting: Waiting }>();
  const { data, error, refetch } = useQuery({ ...DEAD_LETTERS, refetchInterval: EVERY_MS });
  const list = data?.data;
  const askFor = (waiting: Waiting) => (action: Action) => setAsked({ action, waiting });
  return (
    <Page
      title={t.operator.deadLetters.title}
      state={data && data.meta.stream_count > 0 && <Badge tone="warn">{data.meta.stream_count}</Badge>}
    >
      {list && list.groups.length > 0 && <p className="muted">{t.operator.deadLetters.note}</p>}
      {list?.groups.map((group) => (
        <Group
          key={group.group}
          {...group}
          streams={list.streams.filter((each) => each.group === group.group)}
          askFor={askFor}
        />
      ))}
      {list?.groups.length === 0 && (
        <EmptyState icon="check" title={t.operator.deadLetters.none}>
          {t.operator.deadLetters.noneNote}
        </EmptyState>
      )}
      {!list && (error ? <ErrorState error={error} onRetry={refetch} /> : <Loading />)}
      {asked && list && <Release {...asked} list={list} onClose={() => setAsked(undefined)} />}
    </Page>
  );
}

interface GroupProps extends Omit<DeadLetters['groups'][number], 'plan'> {
  readonly streams: readonly WaitingStream[];
  readonly askFor: (waiting: Waiting) => (action: Action) => void;
}

function Group({ group, count, first, streams, askFor }: GroupProps) {
  const t = useTexts();
  const [shows_all, showAll] = useState(false);
  const columns = t.operator.deadLetters.columns;
  const shown = shows_all ? streams : streams.slice(0, SHOWN_AT_FIRST);
  return (
    <Card
      title={first.reason}
      hint={
        <>
          {t.operator.deadLetters.count(count)} · {t.operator.deadLetters.since}{' '}
          <Moment at={first.failed_at} />
          {first.cause && ` · ${first.cause}`} · <code>{group}</code>
        </>
      }
      actions={<ReleaseButtons isGroup onAsk={askFor({ group })} />}
      isFlush
    >
      <Table
        label={first.reason}
        items={shown.map((each) => ({ ...each, id: `${each.stream} ${each.version}` }))}
        nameOf={({ stream }) => stream}
        columns={[
          {
            id: 'stream',
            label: columns.stream,
            cell: ({ stream, revision }) => <StreamLink stream={stream} revision={revision} />,
          },
          { id: 'version', label: columns.version, cell: ({ version }) => `v${version}` },
          { id: 'event', label: columns.event, isNumber: true, cell: ({ revision }) => revision },
          { id: 'since', label: columns.since, cell: ({ failed_at }) => <Moment at={failed_at} /> },
          {
            id: 'actions',
            label: t.operator.actions,
            hideLabel: true,
            cell: ({ stream }) => (
              <span className="row-actions">
                <ReleaseButtons onAsk={askFor({ stream })} />
              </span>
            ),
          },
        ]}
      />
      {shown.length < streams.length && (
        <div className="more-row">
          <Button kind="quiet" onPress={() => showAll(true)}>
            {t.operator.deadLetters.showAll(streams.length)}
          </Button>
        </div>
      )}
    </Card>
  );
}
