import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page, Tabs } from '../../ui/layout';
import { Table } from '../../ui/table';
import { operator, type Projections, REALMS, TASKS, type Task, type TaskName } from './api';
import { Moment } from './parts';
import { StartTask, TaskState } from './task';

/** How often a running task is looked at, and otherwise the projections. */
const SOON_MS = 500;
const EVERY_MS = 4_000;

/** The versions and partitions of each realm, and the tasks that rebuild, verify or repair its documents. */
export default function ProjectionsPage({ realm: name }: { readonly realm: string }) {
  const t = useTexts();
  const [, navigate] = useLocation();
  const realm = REALMS.find((each) => each === name) ?? 'live';
  const [asked, setAsked] = useState<TaskName>();
  const { data: tasks } = useQuery({
    queryKey: ['tasks'],
    queryFn: operator.tasks,
    refetchInterval: ({ state }) => (state.data?.some(isRunning) ? SOON_MS : EVERY_MS),
  });
  const { data, error, refetch } = useQuery({
    queryKey: ['projections'],
    queryFn: operator.projections,
    refetchInterval: EVERY_MS,
  });
  const task = tasks?.find((each) => each.realm === realm);
  const shown = data?.realms.find((each) => each.realm === realm);
  return (
    <Page title={t.operator.projections.title}>
      <Tabs
        label={t.operator.realm}
        selected={realm}
        onSelect={(each) => navigate(`/operator/projections/${each}`)}
        tabs={REALMS.map((each) => ({ id: each, label: t.operator.realms[each] }))}
      >
        {task && (
          <Card
            title={t.operator.tasks.title}
            hint={t.operator.tasks.hint}
            actions={TASKS.map((each) => (
              <Button key={each} isDisabled={isRunning(task)} onPress={() => setAsked(each)}>
                {t.operator.tasks.asks[each]}
              </Button>
            ))}
          >
            <TaskState task={task} />
          </Card>
        )}
        {shown ? (
          <Versions {...shown} />
        ) : error ? (
          <ErrorState error={error} onRetry={refetch} />
        ) : (
          <Loading />
        )}
      </Tabs>
      {asked && <StartTask realm={realm} task={asked} onClose={() => setAsked(undefined)} />}
    </Page>
  );
}

const isRunning = ({ status }: Task): boolean => status === 'running';

const TONES = { active: 'good', building: 'info', following: 'info', retired: 'neutral' } as const;

function Versions({ head, paused_since, versions }: Projections) {
  const t = useTexts();
  const locale = useLocale();
  const columns = t.operator.projections.columns;
  const number = (text: string) => formatNumber(Number(text), locale);
  const active = versions.find(({ status }) => status === 'active');
  return (
    <>
      <Card
        title={t.operator.projections.versions}
        actions={
          <>
            {paused_since && (
              <Badge tone="warn">
                {t.operator.paused} <Moment at={paused_since} />
              </Badge>
            )}
            <span className="small muted">{t.operator.projections.head(number(head))}</span>
          </>
        }
        isFlush
      >
        <Table
          label={t.operator.projections.versions}
          items={versions.map((each) => ({ ...each, id: String(each.version) }))}
          nameOf={({ id }) => `v${id}`}
          empty={<p className="muted empty-row">{t.operator.projections.noVersions}</p>}
          columns={[
            { id: 'version', label: columns.version, cell: ({ version }) => `v${version}` },
            {
              id: 'status',
              label: columns.status,
              cell: ({ status, damaged, mismatch }) => (
                <span className="row">
                  <Badge tone={TONES[status]}>{t.operator.projections.statuses[status]}</Badge>
                  {damaged && <Badge tone="bad">{t.operator.projections.damaged}</Badge>}
                  {mismatch && <span className="bad-text small">{mismatch}</span>}
                </span>
              ),
            },
            { id: 'created', label: columns.created, cell: ({ created_at }) => <Moment at={created_at} /> },
            { id: 'schema', label: columns.schema, isNumber: true, cell: ({ schema }) => schema },
            {
              id: 'letters',
              label: columns.deadLetters,
              isNumber: true,
              cell: ({ dead_letters }) => dead_letters.length,
            },
          ]}
        />
      </Card>
      {active && (
        <Card title={t.operator.projections.partitions(active.version)} isFlush>
          <Table
            label={t.operator.projections.partitions(active.version)}
            items={active.partitions.map((each) => ({ ...each, id: String(each.partition) }))}
            nameOf={({ id }) => id}
            columns={[
              { id: 'partition', label: columns.partition, cell: ({ partition }) => partition },
              {
                id: 'position',
                label: columns.position,
                isNumber: true,
                cell: ({ checkpoint }) => number(checkpoint),
              },
              { id: 'lag', label: columns.lag, isNumber: true, cell: ({ lag }) => number(lag) },
              {
                id: 'letters',
                label: columns.deadLetters,
                isNumber: true,
                cell: ({ partition }) =>
                  active.dead_letters.filter((each) => each.partition === partition).length,
              },
            ]}
          />
        </Card>
      )}
    </>
  );
}
