import type {
  DeadLetterGroup,
  DeadLetterInVersion,
  RetryResult,
} from '../../projections/maintenance/dead-letters';
import type { RebuildResult } from '../../projections/maintenance/rebuild';
import type { PipelineStatus } from '../../projections/maintenance/status';
import type { VerifyResult } from '../../projections/maintenance/verify';
import type { Realm } from '../../shared/catalog/realm';
import { shortenText } from '../../shared/kernel/text';
import type { MissingFile } from '../media/stored-files';
import { right, table } from './table';

type WithRealm<Result> = Result & { readonly realm: Realm };

/** Differences shown per realm. `--json` has up to a thousand. */
const DIFFERENCES_SHOWN = 50;
const VALUE_LENGTH = 60;

/** Renders one row per partition of every version, and one row for a realm that was never projected. Names paused realms. */
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
  const paused = realms.map(({ realm, paused_since: since }) =>
    since ? `${realm} is paused since ${since}. Continue with "catalog projections resume".\n` : '',
  );
  return table(['realm', right('head'), 'version', 'status', ...numbers], rows) + paused.join('');
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

export function deadLettersTable(found: readonly DeadLetterInVersion[]): string {
  return table(
    ['stream', 'version', 'event', 'since', 'reason'],
    found.map(({ stream, version, revision, failed_at, reason }) => [
      ...[stream, `v${version}`, revision, failed_at, reason],
    ]),
  );
}

export function groupsTable(groups: readonly DeadLetterGroup[]): string {
  return table(
    ['group', right('streams'), 'error', 'first stream', 'event', 'since', 'reason'],
    groups.map(({ group, count, first: { cause, stream, revision, failed_at, reason } }) => [
      ...[group, count, cause, stream, revision, failed_at, reason],
    ]),
  );
}

/** Renders what a retry or a skip has done in each version. */
export function resultTable(results: readonly RetryResult[]): string {
  return table(
    ['stream', 'version', right('projected'), 'fails again'],
    results.map(({ stream, version, projected, dead_letter }) => [
      ...[stream, `v${version}`, projected],
      dead_letter ? `at event ${dead_letter.revision}: ${dead_letter.reason}` : 'no',
    ]),
  );
}

/** Renders one row per realm, followed by the differences of each realm that has drifted, and the missing files. */
export function verifyText(
  realms: readonly WithRealm<VerifyResult>[],
  missing_files: readonly MissingFile[],
  repairs: boolean,
): string {
  const titles = ['realm', 'result', 'version', right('events'), right('documents')];
  const summary = table(
    repairs ? [...titles, right('rewritten')] : titles,
    realms.map(({ realm, clean, version, events, documents, rewritten }) => [
      ...[realm, clean ? 'clean' : 'DRIFT', `v${version}`, events],
      Object.values(documents).reduce((sum, count) => sum + count, 0),
      ...(repairs ? [rewritten] : []),
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
  return shortenText(text, VALUE_LENGTH);
}
