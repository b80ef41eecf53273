import { partsOf } from '../../projections/maintenance/parts';
import { type PipelineStatus, readStatus } from '../../projections/maintenance/status';
import type { TaskState } from '../../projections/maintenance/tasks';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { outageMessage, type Server } from '../../shared/kernel/outages';
import { endpoint, type OperatorDeps } from './endpoint';

export const healthEndpoints = [
  endpoint('GET /operator/health', {}, async ({ deps }) => ({ data: await readHealth(deps) })),
  endpoint('GET /operator/projections', {}, async ({ deps }) => ({
    data: { realms: await Promise.all(REALMS.map((realm) => readStatus(partsOf(deps, realm)))) },
  })),
];

/** Returns what `/health/ready` reports, and the projections of each realm, with the first cause of trouble. */
async function readHealth(deps: OperatorDeps) {
  const { ok, details } = await deps.ready().catch(() => ({ ok: false, details: {} as JsonObject }));
  const { waiting_for = [], outages = {}, control, live, test, ...parts } = details;
  const { expected = 0, answering = 0 } = (parts.http_processes ?? {}) as {
    expected?: number;
    answering?: number;
  };
  const of_realms = { control, live, test };
  const reading = REALMS.map((realm) => readRealm(deps, realm, (of_realms[realm] ?? {}) as JsonObject));
  const realms = await Promise.all(reading);
  const causes = [
    ...Object.entries(outages as Record<Server, { cause: string; since: string }>).map(
      ([server, { cause, since }]) => `${outageMessage(server as Server, cause)} (since ${since}).`,
    ),
    ...(waiting_for as string[]).map((part) => `Waiting for ${wordsOf(part)}.`),
    ...(ok ? [] : ['The service does not answer whether it is ready.']),
    ...realms.flatMap(({ causes }) => causes),
    ...(answering < expected ? [`HTTP processes that answer: ${answering} of ${expected}.`] : []),
    ...troubles(parts).map(([part, state]) => `The ${wordsOf(part)} is ${state}.`),
  ];
  const attention = causes.length > 0 ? 'attention' : 'ok';
  return {
    state: ok ? attention : 'down',
    cause: causes[0] ?? null,
    parts,
    outages,
    waiting_for,
    realms: Object.fromEntries(realms.map(({ realm, shown }) => [realm, shown])),
  };
}

async function readRealm(deps: OperatorDeps, realm: Realm, details: JsonObject) {
  const { lag: _, dead_letters: __, ...parts } = details;
  const task = await deps.maintain({ realm, action: 'show' }).then(
    ({ state }) => state,
    () => undefined,
  );
  // The answer is needed most when a store cannot be read.
  const projections = await readStatus(partsOf(deps, realm)).then(projectionsOf, (error: unknown) => ({
    error: (error as Error).message,
  }));
  const causes = causesOf(realm, parts, projections, task);
  return { realm, causes, shown: { parts, task: task ? summaryOf(task) : null, ...projections } };
}

/** Returns the versions, and the states of the active version's partitions, by their numbers. */
function projectionsOf({ head, versions, paused_since }: PipelineStatus) {
  const { partitions = [], dead_letters = [] } = versions.find(({ status }) => status === 'active') ?? {};
  const lettersOf = (each: number) => dead_letters.filter(({ partition }) => partition === each).length;
  return {
    head,
    position: partitions.map(({ checkpoint }) => checkpoint),
    lag: partitions.map(({ lag }) => lag),
    dead_letters: partitions.map(({ partition }) => lettersOf(partition)),
    paused_since,
    versions: versions.map(({ partitions: _, dead_letters, ...version }) => ({
      ...version,
      dead_letters: dead_letters.length,
    })),
  };
}

/** Returns a task without the differences that it has found. */
function summaryOf(state: TaskState) {
  const { task, status } = state;
  if (state.status === 'running') return state;
  return { task, status, ...(state.status === 'failed' && { reason: state.reason }) };
}

/** Returns one sentence for each trouble of a realm. The worst comes first. */
function causesOf(
  realm: Realm,
  { mismatch, paused_since, ...parts }: JsonObject,
  projections: ReturnType<typeof projectionsOf> | { readonly error: string },
  task: TaskState | undefined,
): string[] {
  const causes = mismatch ? [`${realm}: ${String(mismatch)}`] : [];
  for (const [part, state] of troubles(parts)) causes.push(`The ${wordsOf(part)} of ${realm} is ${state}.`);
  if ('error' in projections) return [...causes, `${realm} cannot be read: ${projections.error}`];
  for (const { version, damaged } of projections.versions)
    if (damaged) causes.push(`Version v${version} of the documents of ${realm} is damaged.`);
  if (paused_since) causes.push(`An operator has paused the projections of ${realm}.`);
  const waiting = projections.dead_letters.reduce((sum, count) => sum + count, 0);
  if (waiting > 0) causes.push(`Streams on the dead-letter list of ${realm}: ${waiting}.`);
  if (task?.status === 'failed') causes.push(`The last ${task.task} of ${realm} failed: ${task.reason}`);
  if (task?.status === 'verified' && !task.result.clean)
    causes.push(`The last ${task.task} of ${realm} found documents that differ from the log.`);
  return causes;
}

/** The states that need nobody. `unknown`: another process knows the state. */
const FINE: ReadonlySet<unknown> = new Set(['ok', 'yes', 'running', 'unknown']);

/** Returns the parts whose state is a word for trouble. */
const troubles = (parts: JsonObject): [part: string, state: string][] =>
  Object.entries(parts).filter((entry): entry is [string, string] => {
    const [, state] = entry;
    return typeof state === 'string' && !FINE.has(state);
  });

const wordsOf = (name: string): string => name.replaceAll('_', ' ');
