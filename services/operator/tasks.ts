import { z } from 'zod';
import { TASKS, type TaskOptions, type TaskState } from '../../projections/maintenance/tasks';
import type { VerifyResult } from '../../projections/maintenance/verify';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { shortenText } from '../../shared/kernel/text';
import { endpoint, hideSecrets, jsonOf } from './endpoint';

const VALUE_LENGTH = 200;

const taskBody = z
  .strictObject({
    realm: z.enum(REALMS),
    action: z.enum(['start', 'stop']),
    /** Only for `start`. */
    task: z.enum(TASKS).optional(),
    /** Of a rebuild: whether streams that cannot be projected become dead letters. Otherwise the rebuild fails. */
    dead_letter: z.boolean().default(false),
  })
  .refine(({ action, task }) => action === 'stop' || task !== undefined, {
    params: { condition: 'field_required' },
    path: ['task'],
    error: 'required',
  });

export const taskEndpoints = [
  endpoint('GET /operator/tasks', {}, async ({ deps }) => {
    const states = REALMS.map(async (realm) => {
      const { state } = await deps.maintain({ realm, action: 'show' });
      return shownTask(realm, state);
    });
    return { data: await Promise.all(states) };
  }),

  endpoint('POST /operator/task', { body: taskBody }, async ({ deps, body }) => {
    const { realm, action, task, dead_letter } = body;
    if (action === 'stop' || task === undefined) {
      const { state } = await deps.maintain({ realm, action: 'stop' });
      return { data: shownTask(realm, state) };
    }
    const options: TaskOptions = { task, on_poison: dead_letter ? 'dead_letter' : 'fail' };
    const { state, is_refused } = await deps.maintain({ realm, action: 'start', options });
    const data = shownTask(realm, state);
    if (!is_refused) return { status: 202, data };
    const running = `A ${state?.task} of ${realm} is running`;
    return { data, conflict: `${running}. Stop it, or wait until it has ended.` };
  }),
];

/** Returns the last task of a realm as the interface shows it. */
function shownTask(realm: Realm, state: TaskState | undefined) {
  switch (state?.status) {
    case undefined:
      return { realm, task: null, status: 'none' };
    case 'verified':
      return { realm, ...state, result: shownResult(state.result) };
    case 'rebuilt': {
      const { verified } = state.result;
      return { realm, ...state, result: { ...state.result, verified: verified && shownResult(verified) } };
    }
    default:
      return { realm, ...state };
  }
}

/** Values are JSON text that is cut, because a value may be as large as a document. */
function shownResult({ differences, ...result }: VerifyResult) {
  const shown = differences.map(({ expected, actual, ...difference }) => ({
    ...difference,
    expected: valueText(difference.field, expected),
    actual: valueText(difference.field, actual),
  }));
  return { ...result, differences: shown };
}

/** Returns null for a field that is missing. */
function valueText(field: string, value: unknown): string | null {
  if (value === undefined) return null;
  return shortenText(jsonOf(hideSecrets(field.split('.').at(-1)!, value)), VALUE_LENGTH);
}
