import type { RebuildResult } from '../../projections/maintenance/rebuild';
import type { PipelineStatus } from '../../projections/maintenance/status';
import type { VerifyResult } from '../../projections/maintenance/verify';
import type { Realm } from '../../shared/catalog/realm';
import { right, table } from './table';

type Of<Result> = Result & { readonly realm: Realm };

/** More would not be read; `--json` has up to a thousand. */
const DIFFERENCES_SHOWN = 50;
const VALUE_LENGTH = 60;

/** A line per lane of every version, and one for a realm that was never projected. */
export function statusTable(realms: readonly PipelineStatus[]): string {
  const rows = realms.flatMap(({ realm, head, versions }) =>
    versions.length === 0
      ? [[realm, head, '-', 'not projected yet', '-', '-', '-', '-']]
      : versions.flatMap(({ version, status, lanes, parked }) =>
          lanes.map(({ lane, checkpoint, lag }) => [
            ...[realm, head, `v${version}`, status, lane, checkpoint, lag],
            parked.filter((stream) => stream.lane === lane).length,
          ]),
        ),
  );
  const numbers = ['lane', 'position', 'lag', 'parked'].map(right);
  return table(['realm', right('head'), 'version', 'status', ...numbers], rows);
}

export function rebuildTable(realms: readonly Of<RebuildResult>[]): string {
  return table(
    ['realm', 'outcome', 'version', right('events'), right('seconds')],
    realms.map(({ realm, outcome, version, events, duration_ms }) => [
      realm,
      outcome,
      `v${version}`,
      events,
      (duration_ms / 1000).toFixed(1),
    ]),
  );
}

/** A line per realm, and every difference below. */
export function verifyText(realms: readonly Of<VerifyResult>[]): string {
  const summary = table(
    ['realm', 'result', 'version', right('events'), right('documents')],
    realms.map(({ realm, clean, version, events, documents }) => [
      ...[realm, clean ? 'clean' : 'DRIFT', `v${version}`, events],
      Object.values(documents).reduce((sum, count) => sum + count, 0),
    ]),
  );
  return [summary, ...realms.filter((realm) => !realm.clean).map(differencesText)].join('\n');
}

function differencesText({ realm, differences, truncated, undecided }: Of<VerifyResult>): string {
  const shown = differences.slice(0, DIFFERENCES_SHOWN);
  const rows = shown.map(({ collection, id, field, expected, actual }) => [
    ...[realm, collection, id, field, valueText(expected), valueText(actual)],
  ]);
  const titles = ['realm', 'collection', 'id', 'field', 'the log says', 'stored'];
  const hidden = differences.length - shown.length;
  const more = hidden > 0 || truncated ? `and ${hidden}${truncated ? ' or more' : ''} others (--json)\n` : '';
  const open = undecided > 0 ? `${undecided} documents changed each time they were looked at\n` : '';
  return table(titles, rows) + more + open;
}

function valueText(value: unknown): string {
  const text = value === undefined ? '(nothing)' : JSON.stringify(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}
