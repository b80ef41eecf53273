import type { Progress } from '../../../projections/maintenance/progress';
import { TASKS, type Task, type TaskOptions, type TaskState } from '../../../projections/maintenance/tasks';
import type { VerifyResult } from '../../../projections/maintenance/verify';
import { REALMS, type Realm } from '../../../shared/catalog/realm';
import { assertNever } from '../../../shared/kernel/errors';
import { shortenText } from '../../../shared/kernel/text';
import type { PageAnswer } from './frame';
import { HOME, hideSecrets, link, messageOf, type Page, Rows } from './operator-frame';
import { Button } from './parts';

const EFFECTS: Readonly<Record<Task, string>> = {
  rebuild:
    'Builds a new version of all documents from the log, compares it with a second reading of the log, and switches to it. Readers see the old version until then, and it is kept for a rollback. Continues a rebuild that was stopped.',
  verify: 'Compares every document with a new reading of the log. Changes nothing.',
  repair: 'Compares every document with a new reading of the log, and rewrites those that differ.',
};
const VALUE_LENGTH = 200;

const count = (value: number): string => Math.round(value).toLocaleString('en');
const titleOf = (task: Task, realm: Realm): string => `${task[0]!.toUpperCase()}${task.slice(1)} ${realm}`;

/** Shows the last task of a realm, or asks before another one. A form starts or stops one. */
export const taskPage: Page = async ({ deps: { maintain }, query, form }) => {
  const parameters = form ?? query;
  const realm = REALMS.find((each) => each === parameters.get('realm'));
  const task = TASKS.find((each) => each === parameters.get('task'));
  const is_stop = form?.get('action') === 'stop';
  if (!realm || (!task && (parameters.has('task') || (form && !is_stop))))
    return messageOf('Not found', 'There is no such task.', 404);
  const shown = { location: link('/task', { realm }) };
  if (form && task && !is_stop) {
    const options: TaskOptions = { task, on_poison: form.has('dead_letter') ? 'dead_letter' : 'fail' };
    const { state, is_refused } = await maintain({ realm, action: 'start', options });
    return is_refused ? runningMessage(realm, state) : shown;
  }
  const { state } = await maintain({ realm, action: is_stop ? 'stop' : 'show' });
  if (is_stop || (task && state?.status === 'running')) return shown;
  if (task) return askPage(realm, task);
  if (state) return statePage(realm, state);
  return messageOf('Nothing runs', `No task of ${realm} was started here since the service started.`, 200);
};

const runningMessage = (realm: Realm, state: TaskState | undefined): PageAnswer =>
  messageOf(
    'Already running',
    `A ${state?.task} of ${realm} is running. Stop it, or wait until it has ended.`,
    409,
  );

function askPage(realm: Realm, task: Task): PageAnswer {
  const title = titleOf(task, realm);
  const body = (
    <form method="post" action={`${HOME}/task`}>
      <h1>{title}</h1>
      <p>{EFFECTS[task]}</p>
      <p class="note">
        It takes one CPU, in a process of its own, and space for the documents once more. It can be stopped.
      </p>
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

function statePage(realm: Realm, state: TaskState): PageAnswer {
  const title = titleOf(state.task, realm);
  const is_running = state.status === 'running';
  const body = (
    <>
      <h1>{title}</h1>
      <State state={state} />
      {is_running && <Button action={`${HOME}/task`} label="Stop" values={{ realm, action: 'stop' }} />}
      <p class="tags">
        <a href={HOME}>Health</a>
        {state.status === 'failed' && <a href={link('/task', { realm, task: 'rebuild' })}>Rebuild…</a>}
      </p>
    </>
  );
  return { title, body, refreshes: is_running };
}

function State({ state }: { state: TaskState }) {
  switch (state.status) {
    case 'running':
      if (state.outage) return <p class="bad">{`Waiting: ${state.outage}`}</p>;
      return state.progress ? <Bar {...state.progress} /> : <p>Starting.</p>;
    case 'stopped':
      return (
        <p>{state.task === 'rebuild' ? 'Stopped. It continues when it is started again.' : 'Stopped.'}</p>
      );
    case 'failed':
      return <p class="bad">{state.reason}</p>;
    case 'verified':
      return <Verified {...state.result} />;
    case 'rebuilt': {
      const { outcome, version, previous, verified } = state.result;
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
    default:
      return assertNever(state, 'status');
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
    collection,
    <code key="id">{id}</code>,
    field,
    valueText(field, expected),
    valueText(field, actual),
  ]);
  return (
    <>
      <p class={clean ? undefined : 'bad'}>{texts.join(' ')}</p>
      {rows.length > 0 && <Rows columns={['Collection', 'ID', 'Field', 'Expected', 'Stored']} rows={rows} />}
    </>
  );
}

function valueText(field: string, value: unknown): string {
  const text = JSON.stringify(hideSecrets(field.split('.').at(-1)!, value), hideSecrets) ?? '(missing)';
  return shortenText(text, VALUE_LENGTH);
}
