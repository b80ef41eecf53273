import type { Progress } from '../../../projections/maintenance/progress';
import { type Run, TASKS, type Task } from '../../../projections/maintenance/runs';
import type { VerifyResult } from '../../../projections/maintenance/verify';
import { REALMS, type Realm } from '../../../shared/catalog/realm';
import type { Shown } from './frame';
import { HOME, hideSecrets, link, messageOf, type Page, Table } from './operator-pages';
import { Button } from './pages';

const EFFECTS: Readonly<Record<Task, string>> = {
  rebuild:
    'Builds a new version of all documents from the log, compares it with a second reading of the log, and switches to it. Until then, readers see the present version, and then it is kept for a rollback. Continues a rebuild that was stopped.',
  verify: 'Compares every document with a new reading of the log. Changes nothing.',
  repair: 'Compares every document with a new reading of the log, and rewrites those that differ.',
};
const VALUE_LENGTH = 200;

const count = (value: number): string => Math.round(value).toLocaleString('en');
const titleOf = (task: Task, realm: Realm): string => `${task[0]!.toUpperCase()}${task.slice(1)} ${realm}`;

/** Asks before a task. Without one, shows the last task of the realm. A form starts a task, or stops the one that runs. */
export const taskPage: Page = async ({ deps, query, form }) => {
  const asked = form ?? query;
  const realm = REALMS.find((each) => each === asked.get('realm'));
  const task = TASKS.find((each) => each === asked.get('task'));
  if (!realm || (asked.has('task') && !task)) return messageOf('Not found', 'There is no such task.', 404);
  const on_poison = asked.has('dead_letter') ? 'dead_letter' : 'fail';
  const action = task ? ({ task, on_poison } as const) : 'stop';
  const { run, is_refused } = await deps.maintain({ realm, ...(form && { action }) });
  if (is_refused) {
    const hint = `A ${run?.task} of ${realm} is running. Stop it, or wait until it has ended.`;
    return messageOf('Already running', hint, 409);
  }
  if (form || (task && run?.status === 'running')) return { location: link('/task', { realm }) };
  if (task) return askPage(realm, task);
  if (run) return runPage(realm, run);
  return messageOf('Nothing runs', `No task of ${realm} was started here since the service started.`, 200);
};

function askPage(realm: Realm, task: Task): Shown {
  const title = titleOf(task, realm);
  const body = (
    <form method="post" action={`${HOME}/task`}>
      <h1>{title}</h1>
      <p>{EFFECTS[task]}</p>
      <p class="note">It takes one CPU, in a process of its own. It can be stopped.</p>
      <input type="hidden" name="realm" value={realm} />
      <input type="hidden" name="task" value={task} />
      {task === 'rebuild' && (
        <label>
          <input type="checkbox" name="dead_letter" /> Move streams that cannot be projected to the dead
          letters
        </label>
      )}
      <p>
        <button type="submit">{title}</button> <a href={HOME}>Cancel</a>
      </p>
    </form>
  );
  return { title, body };
}

function runPage(realm: Realm, run: Run): Shown {
  const title = titleOf(run.task, realm);
  const body = (
    <>
      <h1>{title}</h1>
      <State run={run} />
      {run.status === 'running' && <Button action={`${HOME}/task`} label="Stop" values={{ realm }} />}
      <p>
        <a href={HOME}>Health</a>
      </p>
    </>
  );
  return { title, body, refreshes: run.status === 'running' };
}

function State({ run }: { run: Run }) {
  switch (run.status) {
    case 'running':
      return run.progress ? <Bar {...run.progress} /> : <p>Starting.</p>;
    case 'stopped':
      return <p>Stopped. A rebuild continues when it is started again.</p>;
    case 'failed':
      return <p class="bad">{run.reason}</p>;
    case 'verified':
      return <Verified {...run.result} />;
    case 'rebuilt': {
      const { outcome, version, previous, verified } = run.result;
      const is_active = outcome === 'activated';
      return (
        <>
          <p class={is_active ? undefined : 'bad'}>
            {`Version v${version} ${is_active ? 'is active' : 'differs from a second reading of the log, and was dropped'}.`}
            {previous !== null && ` Version v${previous} ${is_active ? 'is retired' : 'stays active'}.`}
          </p>
          {verified && <Verified {...verified} />}
        </>
      );
    }
  }
}

/** The bar is an approximation: positions may have gaps. */
function Bar({ step, events_done, rate, position, head, indexes }: Progress) {
  const [done, total] = indexes ? [indexes.built, indexes.total] : [Number(position), Number(head)];
  const events = `${count(events_done)} events, ${count(rate)} per second. Position ${position} of ${head}.`;
  return (
    <>
      <progress aria-label={step} value={Math.min(done, total)} max={Math.max(total, 1)} />
      <p>{`${step}: ${indexes ? `${done} of ${total} indexes` : events}`}</p>
    </>
  );
}

function Verified({ clean, version, documents, differences, truncated, undecided, rewritten }: VerifyResult) {
  const compared = Object.values(documents).reduce((sum, each) => sum + each, 0);
  const texts = [
    clean ? 'Clean.' : `Differences: ${count(differences.length)}${truncated ? ' or more' : ''}.`,
    `Documents of version v${version} that were compared: ${count(compared)}.`,
    ...(rewritten ? [`Rewritten: ${count(rewritten)}.`] : []),
    ...(undecided ? [`Changed too often to be compared: ${count(undecided)}. Start it again.`] : []),
  ];
  const rows = differences.map(({ collection, id, field, expected, actual }) => [
    ...[collection, <code key={id}>{id}</code>, field],
    ...[expected, actual].map((value) => valueText(field, value)),
  ]);
  return (
    <>
      <p class={clean ? undefined : 'bad'}>{texts.join(' ')}</p>
      {rows.length > 0 && <Table columns={['Collection', 'ID', 'Field', 'Expected', 'Stored']} rows={rows} />}
    </>
  );
}

function valueText(field: string, value: unknown): string {
  const text = JSON.stringify(hideSecrets(field.split('.').at(-1)!, value), hideSecrets) ?? '(missing)';
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}
