import { useState } from 'react';
import { formatNumber } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, Banner, ProgressBar, type Tone } from '../../ui/feedback';
import { Checkbox } from '../../ui/fields';
import { Dialog } from '../../ui/overlay';
import { Table } from '../../ui/table';
import { operator, type Progress, type Realm, type Task, type TaskName, type VerifyResult } from './api';
import { useWrite } from './parts';

const TONES: Readonly<Record<Task['status'], Tone>> = {
  none: 'neutral',
  running: 'info',
  verified: 'neutral',
  rebuilt: 'neutral',
  stopped: 'neutral',
  failed: 'bad',
};

export function TaskBadge({
  task,
  status,
}: {
  readonly task: TaskName | null;
  readonly status: Task['status'];
}) {
  const t = useTexts();
  return (
    <Badge tone={TONES[status]}>
      {task && t.operator.tasks.names[task]}: {t.operator.tasks.statuses[status]}
    </Badge>
  );
}

/** The last task of a realm: how far it is, or what came of it. */
export function TaskState({ task }: { readonly task: Task }) {
  const t = useTexts();
  const stop = useWrite(operator.stopTask);
  if (task.status === 'none') return <p className="muted">{t.operator.tasks.none}</p>;
  const name = t.operator.tasks.titles[task.task](task.realm);
  switch (task.status) {
    case 'running':
      return (
        <div className="stack tight">
          {task.outage ? (
            <Banner tone="warn" title={t.operator.tasks.waiting}>
              {task.outage}
            </Banner>
          ) : (
            <TaskProgress name={name} {...(task.progress && { progress: task.progress })} />
          )}
          <div className="row">
            <Button icon="stop" isPending={stop.isPending} onPress={() => stop.mutate(task.realm)}>
              {t.operator.tasks.stop}
            </Button>
          </div>
        </div>
      );
    case 'stopped':
      return (
        <Banner title={t.operator.tasks.stopped(name)}>
          {task.task === 'rebuild' && t.operator.tasks.continues}
        </Banner>
      );
    case 'failed':
      return (
        <Banner tone="bad" title={t.operator.tasks.failed(name)}>
          {task.reason}
        </Banner>
      );
    case 'verified':
      return <Verified title={name} result={task.result} />;
    case 'rebuilt': {
      const { outcome, version, previous, verified } = task.result;
      const is_active = outcome === 'activated';
      return (
        <>
          <Banner tone={is_active ? 'good' : 'bad'} title={t.operator.tasks.rebuilt(version, is_active)}>
            {previous !== null && t.operator.tasks.previous(previous, is_active)}
          </Banner>
          {verified && <Verified title={t.operator.tasks.ownVerification} result={verified} />}
        </>
      );
    }
  }
}

/** Positions may have gaps, so the bar is an approximation. */
function TaskProgress({ name, progress }: { readonly name: string; readonly progress?: Progress }) {
  const t = useTexts();
  const locale = useLocale();
  if (!progress) return <ProgressBar label={t.operator.tasks.starting(name)} />;
  const { step, events_done, rate, position, head, indexes } = progress;
  const [done, total] = indexes ? [indexes.built, indexes.total] : [Number(position), Number(head)];
  const number = (value: number) => formatNumber(Math.round(value), locale);
  return (
    <>
      <ProgressBar
        label={`${name}: ${t.operator.tasks.steps[step]}`}
        done={Math.min(done, total)}
        total={total}
      />
      <p className="small muted number-text">
        {indexes
          ? t.operator.tasks.indexes(number(done), number(total))
          : t.operator.tasks.events(number(events_done), number(rate), number(done), number(total))}
      </p>
    </>
  );
}

function verifiedTexts(result: VerifyResult, t: Texts, locale: string): string[] {
  const compared = Object.values(result.documents).reduce((sum, each) => sum + each, 0);
  return [
    t.operator.tasks.compared(formatNumber(compared, locale), result.version),
    ...(result.rewritten ? [t.operator.tasks.rewritten(result.rewritten)] : []),
    ...(result.undecided ? [t.operator.tasks.undecided(result.undecided)] : []),
  ];
}

function Verified({ title, result }: { readonly title: string; readonly result: VerifyResult }) {
  const t = useTexts();
  const locale = useLocale();
  const { clean, differences, truncated } = result;
  const columns = t.operator.tasks.columns;
  const found = clean ? t.operator.tasks.clean : t.operator.tasks.differences(differences.length, truncated);
  return (
    <>
      <Banner tone={clean ? 'good' : 'bad'} title={`${title}: ${found}`}>
        {verifiedTexts(result, t, locale).join(' ')}
      </Banner>
      {differences.length > 0 && (
        <Table
          label={t.operator.tasks.differencesTitle}
          items={differences.map((each) => ({
            ...each,
            id: `${each.collection} ${each.id} ${each.field}`,
            document: each.id,
          }))}
          nameOf={({ field }) => field}
          columns={[
            { id: 'collection', label: columns.collection, cell: (each) => each.collection },
            { id: 'document', label: columns.document, cell: (each) => <code>{each.document}</code> },
            { id: 'field', label: columns.field, cell: (each) => each.field },
            {
              id: 'expected',
              label: columns.expected,
              cell: (each) => <code>{each.expected ?? t.operator.tasks.missing}</code>,
            },
            {
              id: 'actual',
              label: columns.actual,
              cell: (each) => <code>{each.actual ?? t.operator.tasks.missing}</code>,
            },
          ]}
        />
      )}
    </>
  );
}

interface StartTaskProps {
  readonly realm: Realm;
  readonly task: TaskName;
  readonly onClose: () => void;
}

/** Says what a task does and what it costs, and starts it. */
export function StartTask({ realm, task, onClose }: StartTaskProps) {
  const t = useTexts();
  const [dead_letter, setDeadLetter] = useState(false);
  const start = useWrite(operator.startTask, onClose);
  const title = t.operator.tasks.titles[task](realm);
  return (
    <Dialog
      title={title}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button
            kind="primary"
            isPending={start.isPending}
            onPress={() => start.mutate({ realm, task, dead_letter })}
          >
            {t.operator.tasks.start}
          </Button>
        </>
      }
    >
      <p>{t.operator.tasks.effects[task]}</p>
      <p className="muted">{t.operator.tasks.costs[task]}</p>
      {task === 'rebuild' && (
        <Checkbox isSelected={dead_letter} onChange={setDeadLetter}>
          {t.operator.tasks.deadLetter}
        </Checkbox>
      )}
    </Dialog>
  );
}
