import type { RebuildResult } from '../../projections/maintenance/rebuild';
import type { PipelineStatus } from '../../projections/maintenance/status';
import type { VerifyResult } from '../../projections/maintenance/verify';
import type { Realm } from '../../shared/catalog/realm';
import type { MissingFile } from '../media/stored-files';
import { right, table } from './table';

type WithRealm<Result> = Result & { readonly realm: Realm };

/** Differences shown per realm. `--json` has up to a thousand. */
const DIFFERENCES_SHOWN = 50;
const VALUE_LENGTH = 60;

/** Renders one row per partition of every version, and one row for a realm that was never projected. */
export function statusTable(realms: readonly PipelineStatus[]): string {
  const rows = realms.flatMap(({ realm, head, versions }) =>
    versions.length === 0
      ? [[realm, head, '-', 'not projected yet', '-', '-', '-', '-']]
      : versions.flatMap(({ version, status, damaged, mismatch, partitions, dead_letters }) =>
          damaged
            ? [[realm, head, `v${version}`, `${status}, damaged`, '-', '-', '-', '-']]
            : partitions.map(({ partition, checkpoint, lag }) => [
                ...[realm, head, `v${version}`, mismatch ? `${status}, other log` : status],
                ...[partition, checkpoint, mismatch ? '-' : lag],
                dead_letters.filter((stream) => stream.partition === partition).length,
              ]),
        ),
  );
  const numbers = ['partition', 'position', 'lag', 'dead letters'].map(right);
  return table(['realm', right('head'), 'version', 'status', ...numbers], rows);
}

export function rebuildTable(realms: readonly WithRealm<RebuildResult>[]): string {
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

/** Renders one row per realm, followed by the differences of each realm that has drifted, and the missing files. */
export function verifyText(
  realms: readonly WithRealm<VerifyResult>[],
  missing_files: readonly MissingFile[],
): string {
  const summary = table(
    ['realm', 'result', 'version', right('events'), right('documents')],
    realms.map(({ realm, clean, version, events, documents }) => [
      ...[realm, clean ? 'clean' : 'DRIFT', `v${version}`, events],
      Object.values(documents).reduce((sum, count) => sum + count, 0),
    ]),
  );
  const rows = missing_files.map(({ environment, area, hash, media_id }) => [
    ...[environment, area, hash, media_id],
  ]);
  const missing = rows.length === 0 ? [] : [table(['environment', 'missing in', 'hash', 'media'], rows)];
  return [summary, ...realms.filter((realm) => !realm.clean).map(differencesText), ...missing].join('\n');
}

function differencesText({ realm, differences, truncated, undecided }: WithRealm<VerifyResult>): string {
  const shown = differences.slice(0, DIFFERENCES_SHOWN);
  const rows = shown.map(({ collection, id, field, expected, actual }) => [
    ...[realm, collection, id, field, valueText(expected), valueText(actual)],
  ]);
  const titles = ['realm', 'collection', 'id', 'field', 'expected', 'stored'];
  const hidden = differences.length - shown.length;
  const more =
    hidden > 0 || truncated
      ? `${hidden}${truncated ? ' or more' : ''} further differences. Use --json to list them.\n`
      : '';
  const unsettled =
    undecided > 0
      ? `${undecided} documents kept changing and could not be compared. Run the command again.\n`
      : '';
  return table(titles, rows) + more + unsettled;
}

function valueText(value: unknown): string {
  const text = value === undefined ? '(missing)' : JSON.stringify(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}
