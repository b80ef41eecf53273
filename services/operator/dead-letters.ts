import { hash } from 'node:crypto';
import { z } from 'zod';
import * as letters from '../../projections/maintenance/dead-letters';
import { partsOf } from '../../projections/maintenance/parts';
import type { StreamName } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { endpoint, notFound, type OperatorDeps } from './endpoint';

/** How many streams an answer lists. */
const STREAMS_MAX = 500;

interface WaitingStream extends letters.DeadLetterInVersion {
  readonly realm: Realm;
  readonly group: string;
}

const releaseBody = z
  .strictObject({
    action: z.enum(['retry', 'skip']),
    stream: z.string().optional(),
    group: z.string().optional(),
    /** The `plan` of the stream or group that the operator has seen. */
    plan: z.string(),
  })
  .refine(({ stream, group }) => (stream === undefined) !== (group === undefined), {
    params: { condition: 'field_invalid' },
    path: ['stream'],
    error: 'either stream or group',
  });

export const deadLetterEndpoints = [
  endpoint('GET /operator/dead-letters', {}, async ({ deps }) => {
    const waiting = await waitingStreams(deps);
    const plans = plansBy('group', waiting);
    const groups = letters
      .groupDeadLetters(waiting)
      .map((group) => ({ ...group, plan: plans.get(group.group) }));
    return { data: { groups, streams: shownStreams(waiting) }, meta: { stream_count: waiting.length } };
  }),

  endpoint('POST /operator/dead-letters/release', { body: releaseBody }, async ({ deps, body }) => {
    const { action, stream, group = '', plan } = body;
    const found = (await waitingStreams(deps)).filter((each) =>
      stream ? each.stream === stream : each.group === group,
    );
    if (found.length === 0) throw notFound('It is not on the dead-letter list any more');
    const current = planOf(found);
    if (plan !== current) {
      const data = { plan: current, streams: shownStreams(found) };
      return { data, conflict: 'The list has changed meanwhile. Look at it again.' };
    }
    const waiting = stream ? { stream: stream as StreamName } : { group };
    const release = { retry: letters.retry, skip: letters.skip }[action];
    const versions: letters.RetryResult[] = [];
    for (const realm of new Set(found.map((each) => each.realm)))
      versions.push(...(await release(partsOf(deps, realm), waiting)));
    return { data: { versions } };
  }),
];

async function waitingStreams(deps: OperatorDeps): Promise<WaitingStream[]> {
  const found: WaitingStream[] = [];
  for (const realm of REALMS)
    for (const letter of await letters.deadLetters(partsOf(deps, realm)))
      found.push({ ...letter, realm, group: letters.groupOf(letter) });
  return found;
}

/** Returns the streams with the plan of each. A stream may wait in several versions. */
function shownStreams(waiting: readonly WaitingStream[]) {
  const plans = plansBy('stream', waiting);
  return waiting.slice(0, STREAMS_MAX).map((letter) => ({ ...letter, plan: plans.get(letter.stream) }));
}

function plansBy(name: 'group' | 'stream', waiting: readonly WaitingStream[]): Map<string, string> {
  const lists = new Map<string, WaitingStream[]>();
  for (const letter of waiting) {
    const list = lists.get(letter[name]);
    if (list) list.push(letter);
    else lists.set(letter[name], [letter]);
  }
  return new Map([...lists].map(([key, list]) => [key, planOf(list)]));
}

/** Identifies the waiting events, so that a release acts on the events that the operator has seen. */
function planOf(waiting: readonly WaitingStream[]): string {
  const events = waiting.map(({ stream, version, revision }) => [stream, version, revision]);
  return hash('sha256', JSON.stringify(events), 'base64url');
}
