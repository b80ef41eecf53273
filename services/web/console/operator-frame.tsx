import type { ComponentChildren } from 'preact';
import type { Maintain } from '../../../projections/maintenance/tasks';
import type { Realm } from '../../../shared/catalog/realm';
import type { ReadyCheck } from '../../../shared/http/operational';
import type { Logger } from '../../../shared/kernel/log';
import type { System } from '../../../shared/kernel/system';
import type { ActiveView } from '../../../shared/ports/document-reader';
import type { EventStore } from '../../../shared/ports/event-store';
import type { ViewStore } from '../../../shared/ports/view-store';
import { messagePage, type PageAnswer } from './frame';
import type { Site } from './layout';
import { secondOf, Table } from './parts';

/** The stores of the process, which the pages read and change with the functions of the command line. */
export interface PageDeps {
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly viewStores: Readonly<Record<Realm, ViewStore>>;
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly system: System;
  readonly log: Logger;
  readonly ready: ReadyCheck;
  readonly maintain: Maintain;
}

interface Visit {
  readonly deps: PageDeps;
  readonly query: URLSearchParams;
  /** Undefined for a GET. */
  readonly form: URLSearchParams | undefined;
}
export type Page = (visit: Visit) => Promise<PageAnswer>;

export const HOME = '/console/operator';
export const OPERATOR: Site = {
  name: 'Operator',
  home: HOME,
  sign_out: `${HOME}/sign-out`,
  sections: [
    [HOME, 'Health'],
    [`${HOME}/dead-letters`, 'Dead letters'],
    [`${HOME}/events`, 'Events'],
    [`${HOME}/stores`, 'Stores'],
  ],
};

/** How many rows a table shows. */
const ROWS_MAX = 500;

export const messageOf = (heading: string, hint: string, status: number): PageAnswer =>
  messagePage(heading, status, { heading, hint, back: OPERATOR.sections[0]! });

export const link = (path: string, parameters: Record<string, string>): string =>
  `${HOME}${path}?${new URLSearchParams(parameters)}`;

export const Time = ({ at }: { at: string }) => <time>{secondOf(at)}</time>;

export const StreamLink = ({ stream }: { stream: string }) => (
  <a href={link('/stream', { name: stream })}>
    <code>{stream}</code>
  </a>
);

interface RowsProps {
  readonly columns: readonly string[];
  readonly rows: readonly ComponentChildren[][];
}

/** A table of at most `ROWS_MAX` rows, which scrolls sideways on a narrow screen. */
export function Rows({ columns, rows }: RowsProps) {
  if (rows.length === 0) return <p class="note">None.</p>;
  const declared = columns.map((label, index) => ({
    label,
    is_number: ['number', 'bigint'].includes(typeof rows[0]![index]),
  }));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without links, it cannot be scrolled by keyboard otherwise
    <div class="scroll" tabIndex={0}>
      <Table class="rows" columns={declared} rows={rows.slice(0, ROWS_MAX)} />
      {rows.length > ROWS_MAX && <p class="note">{`The first ${ROWS_MAX} of ${rows.length}.`}</p>}
    </div>
  );
}

/** Secrets of webhooks and hashes of API keys are in the log. */
export const hideSecrets = (key: string, value: unknown): unknown =>
  ['secret', 'key_hash'].includes(key) ? '(hidden)' : value;
