import { hash } from 'node:crypto';
import type { ComponentChildren } from 'preact';
import { scanBodies } from '../../../projections/maintenance/bodies';
import * as letters from '../../../projections/maintenance/dead-letters';
import { newestEvents, showStream } from '../../../projections/maintenance/event-log';
import { type PipelineStatus, readStatus } from '../../../projections/maintenance/status';
import { TASKS, type TaskState } from '../../../projections/maintenance/tasks';
import {
  type JsonObject,
  parseStreamName,
  type RecordedEvent,
  type StreamName,
  streamName,
} from '../../../shared/catalog/events/envelope';
import { ENVIRONMENTS, type Environment, REALMS, type Realm } from '../../../shared/catalog/realm';
import { shortenText } from '../../../shared/kernel/text';
import { taskPage } from './maintenance';
import {
  HOME,
  hideSecrets,
  link,
  messageOf,
  type Page,
  type PageDeps,
  Rows,
  StreamLink,
  Time,
} from './operator-frame';
import { secondOf } from './parts';
import { PlotScript, Plots } from './plots';

/** How many events a page shows. */
const EVENTS = 50;
/** How many events a page examines to find the events that it shows. Older events are a page further. */
const EXAMINED_MAX = 5_000;
const REASON_LENGTH = 160;

const partsOf = ({ events, viewStores, system, log }: PageDeps, realm: Realm) => ({
  realm,
  events: events[realm],
  views: viewStores[realm],
  system,
  log,
});

// --- Health ---

const healthPage: Page = async ({ deps }) => {
  const { ok, details } = await deps.ready().catch(() => ({ ok: false, details: {} as JsonObject }));
  const { waiting_for = [], outages = {}, control, live, test, ...of_service } = details;
  const of_realms = { control, live, test };
  const causes = Object.entries(outages as Record<string, { cause: string; since: string }>);
  const problems = [
    ...(waiting_for as string[]).map((part) => `Waiting for ${part}.`),
    ...causes.map(([server, { cause, since }]) => `${server}, since ${secondOf(since)}: ${cause}`),
  ];
  const body = (
    <>
      <h1>{ok ? 'Ready' : 'Not ready'}</h1>
      {problems.map((problem) => (
        <p key={problem} class="bad">
          {problem}
        </p>
      ))}
      <Parts parts={of_service} />
      {
        await Promise.all(
          REALMS.map(async (realm) => (
            <section key={realm} class="panel">
              <h2>{realm}</h2>
              <Parts parts={(of_realms[realm] ?? {}) as JsonObject} />
              {
                await deps.maintain({ realm, action: 'show' }).then(
                  ({ state }) => <Tasks realm={realm} state={state} />,
                  () => undefined,
                )
              }
              {/* The page is needed most when a store cannot be read. */}
              {
                await readStatus(partsOf(deps, realm)).then(
                  (status) => <Versions {...status} />,
                  (error: unknown) => <p class="bad">{(error as Error).message}</p>,
                )
              }
            </section>
          )),
        )
      }
      <PlotScript />
    </>
  );
  return { title: 'Health', body };
};

/** The links to the pages that ask before a task, and to the last task. */
const Tasks = ({ realm, state }: { realm: Realm; state: TaskState | undefined }) => (
  <div class="tags tasks">
    {TASKS.map((task) => (
      <a key={task} href={link('/task', { realm, task })}>{`${task}…`}</a>
    ))}
    {state && <a href={link('/task', { realm })}>{`${state.task}: ${state.status}`}</a>}
  </div>
);

/** Returns what the script of the Health page shows of each realm. Returns only its name if its store cannot be read. */
export const statusOf = (deps: PageDeps) =>
  Promise.all(
    REALMS.map((realm) =>
      readStatus(partsOf(deps, realm)).then(
        (status) => ({ realm, head: status.head, ...partitionsOf(status) }),
        () => ({ realm }),
      ),
    ),
  );

/** Returns the states of the active version's partitions, by their numbers. */
function partitionsOf({ versions }: PipelineStatus) {
  const { partitions = [], dead_letters = [] } = versions.find(({ status }) => status === 'active') ?? {};
  const lettersOf = (each: number) => dead_letters.filter(({ partition }) => partition === each).length;
  return {
    position: partitions.map(({ checkpoint }) => checkpoint),
    lag: partitions.map(({ lag }) => lag),
    dead_letters: partitions.map(({ partition }) => lettersOf(partition)),
  };
}

/** Shows the states of what a service needs, except what the tables of a realm show. */
function Parts({ parts: { lag, dead_letters, ...parts } }: { parts: JsonObject }) {
  const textOf = (value: unknown) =>
    typeof value === 'string' ? value : JSON.stringify(value).replace(/["{}]/g, '').replace(/[:,]/g, '$& ');
  const is_bad = (value: unknown) =>
    typeof value !== 'object' && !['ok', 'yes', 'running', 'unknown'].includes(String(value));
  return (
    <dl class="parts">
      {Object.entries(parts).map(([name, value]) => (
        <div key={name}>
          <dt>{name.replaceAll('_', ' ')}</dt>
          <dd class={is_bad(value) ? 'bad' : undefined}>{textOf(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Versions(status: PipelineStatus) {
  const { realm, head, versions } = status;
  const { position, lag, dead_letters } = partitionsOf(status);
  return (
    <>
      <Rows
        columns={['Version', 'Status', 'Created', 'Schema', 'Dead letters']}
        rows={versions.map(({ version, status, damaged, mismatch, ...each }) => [
          `v${version}`,
          [status, damaged && 'damaged', mismatch].filter(Boolean).join(', '),
          <Time key={version} at={each.created_at} />,
          each.schema,
          each.dead_letters.length,
        ])}
      />
      <p class="note">
        The log ends at <span class="head">{String(head)}</span>.
      </p>
      <div class="partitions">
        <Rows
          columns={['Partition', ...position.map((_, index) => String(index))]}
          rows={[
            ['Position', ...position],
            ['Lag', ...lag],
            ['Dead letters', ...dead_letters],
          ]}
        />
      </div>
      {position.length > 0 && <Plots realm={realm} />}
    </>
  );
}

// --- Dead letters ---

/** A dead letter with its realm, and the group of the dead letters with the same error. */
interface WaitingStream extends letters.DeadLetterInVersion {
  readonly realm: Realm;
  readonly group: string;
}

async function waitingStreams(deps: PageDeps): Promise<WaitingStream[]> {
  const found: WaitingStream[] = [];
  for (const realm of REALMS)
    for (const letter of await letters.deadLetters(partsOf(deps, realm)))
      found.push({ ...letter, realm, group: letters.groupOf(letter) });
  return found;
}

/** The links to the page that asks before a retry or a skip. */
const Actions = ({ waiting }: { waiting: Record<string, string> }) => (
  <div class="tags">
    <a href={link('/release', { action: 'retry', ...waiting })}>Retry…</a>
    <a href={link('/release', { action: 'skip', ...waiting })}>Skip…</a>
  </div>
);

const deadLettersPage: Page = async ({ deps }) => {
  const streams = await waitingStreams(deps);
  const groups = letters.groupDeadLetters(streams);
  const body = (
    <>
      <h1>Dead letters</h1>
      <p class="note">An event of these streams could not be projected. It and the later ones wait.</p>
      <h2>By error</h2>
      <Rows
        columns={['Group', 'Streams', 'Error', 'Since']}
        rows={groups.map(({ group, count, first }) => [
          <>
            <code>{group}</code>
            <Actions waiting={{ group }} />
          </>,
          count,
          <>
            {shortenText(first.reason, REASON_LENGTH)}
            <div class="note">{first.cause}</div>
          </>,
          <Time key={group} at={first.failed_at} />,
        ])}
      />
      <h2>Streams</h2>
      <StreamTable streams={streams} />
    </>
  );
  return { title: 'Dead letters', body };
};

const StreamTable = ({ streams }: { streams: readonly WaitingStream[] }) => (
  <Rows
    columns={['Stream', 'Version', 'Event', 'Reason', 'Since']}
    rows={streams.map(({ stream, version, revision, reason, failed_at }) => [
      <>
        <StreamLink stream={stream} />
        <Actions waiting={{ stream }} />
      </>,
      `v${version}`,
      revision,
      shortenText(reason, REASON_LENGTH),
      <Time key={stream} at={failed_at} />,
    ])}
  />
);

const ACTIONS = {
  retry: {
    verb: 'Retry',
    run: letters.retry,
    effect: 'The waiting events are projected. If one fails again, its stream stays on the list.',
  },
  skip: {
    verb: 'Skip',
    run: letters.skip,
    effect:
      'These events are left out of the documents for good, and the later ones are projected. The log keeps them: the next rebuild meets them again.',
  },
} as const;

const streamsText = (count: number): string => (count === 1 ? '1 stream' : `${count} streams`);

/** Asks before a retry or a skip, and does it if the form names the same events: nothing has changed meanwhile. */
const releasePage: Page = async ({ deps, query, form }) => {
  const parameters = form ?? query;
  const action = parameters.get('action') === 'skip' ? 'skip' : 'retry';
  const [stream, group] = [parameters.get('stream'), parameters.get('group') ?? ''];
  const waiting = stream ? { stream: stream as StreamName } : { group };
  const found = (await waitingStreams(deps)).filter((each) =>
    stream ? each.stream === stream : each.group === group,
  );
  if (found.length === 0)
    return messageOf('Nothing waits', 'It is not on the dead-letter list any more.', 404);
  const events = found.map((each) => [each.stream, each.version, each.revision]);
  const plan = hash('sha256', JSON.stringify(events), 'base64url');
  const { verb, effect, run } = ACTIONS[action];
  if (form?.get('plan') !== plan) {
    const body = (
      <>
        <h1>{verb}</h1>
        <p>{effect}</p>
        <form method="post" action={`${HOME}/release`}>
          {Object.entries({ action, plan, ...waiting }).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <button type="submit">{`${verb} ${streamsText(found.length)}`}</button>{' '}
          <a href={`${HOME}/dead-letters`}>Cancel</a>
        </form>
        <StreamTable streams={found} />
      </>
    );
    const changed = { text: 'The list has changed meanwhile. Look again.', is_bad: true };
    return { title: 'Confirm', body, notice: form && changed };
  }
  const results: letters.RetryResult[] = [];
  for (const realm of new Set(found.map((each) => each.realm)))
    results.push(...(await run(partsOf(deps, realm), waiting)));
  const failed = results.filter(({ dead_letter }) => dead_letter !== null).length;
  const saved = `Projected again: ${streamsText(results.length - failed)}. Failed again: ${failed}.`;
  return { location: `${HOME}/dead-letters`, saved };
};

// --- Events ---

/** Returns a parameter that is a whole number, as text. */
const numberIn = (query: URLSearchParams, name: string): string | undefined =>
  /^\d{1,18}$/.exec(query.get(name) ?? '')?.[0];

const byOf = ({ metadata: { source, api_key_id } }: RecordedEvent): string =>
  api_key_id ? `${source}, key ${api_key_id}` : source;

const eventsPage: Page = async ({ deps, query }) => {
  const realm = REALMS.find((each) => each === query.get('realm')) ?? 'live';
  const [store = '', type = '', from] = [
    query.get('store')?.trim(),
    query.get('type')?.trim(),
    numberIn(query, 'before'),
  ];
  const wanted = { ...(store && { store }), ...(type && { type: type.split(/[\s,]+/) }) };
  const search = { ...(from && { before: BigInt(from) }), examined_max: EXAMINED_MAX };
  const { events, before } = await newestEvents(deps.events[realm], wanted, EVENTS, search);
  const body = (
    <>
      <div class="bar">
        <h1>Events</h1>
        <form>
          <select name="realm" aria-label="Realm">
            {REALMS.map((each) => (
              <option key={each} selected={each === realm}>
                {each}
              </option>
            ))}
          </select>
          <input
            name="store"
            value={store}
            placeholder="Any store"
            aria-label="ID of the store, or of the account"
          />
          <input name="type" value={type} placeholder="Any type" aria-label="Types, separated by commas" />
          <button type="submit">Show</button>
        </form>
      </div>
      <Rows
        columns={['Time', 'Type', 'Stream', 'Event', 'By', 'Position']}
        rows={events.map((event) => [
          <Time key={event.id} at={event.metadata.occurred_at} />,
          event.type,
          <StreamLink key={event.id} stream={event.stream} />,
          event.revision,
          byOf(event),
          event.position,
        ])}
      />
      {before !== undefined && (
        <p class="pager">
          <a
            href={link('/events', { realm, store, type, before: String(before) })}
          >{`Older than ${before}`}</a>
        </p>
      )}
    </>
  );
  return { title: 'Events', body };
};

const streamPage: Page = async ({ deps, query }) => {
  const name = query.get('name') ?? '';
  const realm = parseStreamName(name)?.realm;
  const from = Number(numberIn(query, 'from')?.slice(0, 9) ?? 0);
  const shown = realm && (await showStream(partsOf(deps, realm), name as StreamName, from, EVENTS));
  if (!shown?.events.length) return messageOf('Not found', 'This stream has no such events.', 404);
  const { events, dead_letter } = shown;
  const linkFrom = (revision: number) => link('/stream', { name, from: String(revision) });
  const body = (
    <>
      <h1 class="stream">{name}</h1>
      {dead_letter && (
        <div class="message bad">
          <a href={linkFrom(dead_letter.revision)}>{`Event ${dead_letter.revision} is a dead letter.`}</a>
          <Actions waiting={{ stream: name }} />
        </div>
      )}
      {events.map((event) => {
        const failed = event.revision === dead_letter?.revision;
        const by = [secondOf(event.metadata.occurred_at), `position ${event.position}`, byOf(event)];
        const problem = event.error ? `Cannot be read: ${event.error}` : failed && dead_letter.reason;
        return (
          <section key={event.id} class="panel">
            <h2>{`${event.revision} · ${event.type}${failed ? ' · dead letter' : ''}`}</h2>
            <p class="note">{by.join(' · ')}</p>
            {problem && <p class="bad">{problem}</p>}
            <pre>{JSON.stringify(event.data, hideSecrets, 2)}</pre>
          </section>
        );
      })}
      {events.length === EVENTS && (
        <p class="pager">
          <a href={linkFrom(events.at(-1)!.revision + 1)}>Later events</a>
        </p>
      )}
    </>
  );
  return { title: name, body };
};

// --- Stores and accounts ---

const STOPPED = ['paused', 'disabled'] as const;

/** Rows of the webhooks that do not send, of all stores of an environment. */
async function stoppedWebhooks(deps: PageDeps, environment: Environment): Promise<ComponentChildren[][]> {
  const found = await Promise.all(
    STOPPED.map((status) => scanBodies(deps, environment, 'webhooks', { status })),
  );
  return found
    .flat()
    .map(({ id, url, status, status_reason = 'by the merchant', updated_at }) => [
      ...[String(url), String(status), String(status_reason)],
      <Time key="time" at={String(updated_at)} />,
      <StreamLink key="stream" stream={streamName(environment, 'webhook', String(id))} />,
    ]);
}

const storesPage: Page = async ({ deps }) => {
  const rowOf = ({ id, name, status, created_at }: JsonObject, realm: Realm) => [
    ...[String(name), realm, String(status)],
    <Time key="time" at={String(created_at)} />,
    <a key="id" href={link('/events', { realm, store: String(id) })}>
      <code>{String(id)}</code>
    </a>,
  ];
  const rowsOf = async (realm: Realm, collection: 'accounts' | 'stores') =>
    (await scanBodies(deps, realm, collection)).map((body) => rowOf(body as JsonObject, realm));
  const stores = await Promise.all(ENVIRONMENTS.map((environment) => rowsOf(environment, 'stores')));
  const stopped = await Promise.all(ENVIRONMENTS.map((environment) => stoppedWebhooks(deps, environment)));
  const columns = ['Name', 'Realm', 'Status', 'Created', 'ID'];
  const body = (
    <>
      <h1>Stores</h1>
      <Rows columns={columns} rows={stores.flat()} />
      <h2>Accounts</h2>
      <Rows columns={columns} rows={await rowsOf('control', 'accounts')} />
      <h2>Webhooks that do not send</h2>
      <Rows columns={['URL', 'Status', 'Reason', 'Changed', 'Stream']} rows={stopped.flat()} />
    </>
  );
  return { title: 'Stores', body };
};

export const OPERATOR_PAGES: Readonly<Record<string, Page>> = {
  '': healthPage,
  '/task': taskPage,
  '/dead-letters': deadLettersPage,
  '/release': releasePage,
  '/events': eventsPage,
  '/stream': streamPage,
  '/stores': storesPage,
};
