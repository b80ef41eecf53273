import { type Position, START } from '../../shared/catalog/events/envelope';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import { LogMismatchError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { assertContains, type EventStore, type LogMark } from '../../shared/ports/event-store';
import type { ViewStore, ViewVersion } from '../../shared/ports/view-store';

/**
 * How long after a mismatch the log is read again. A server that is not the leader any more, and does not know it yet,
 * may end before the checkpoints.
 */
const READ_AGAIN_AFTER_MS = 1_000;

/** Returns what `read` returns. If it throws `LogMismatchError`, calls it again after a second. */
export async function readTwice<Result>(read: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof LogMismatchError)) throw error;
    await pause(READ_AGAIN_AFTER_MS, signal);
    return read();
  }
}

/**
 * Throws `LogMismatchError` if the version was made from another log: if the log ends before a checkpoint, or does not
 * contain the newest event of the documents, in two readings. See
 * `docs/operations/failures.md#documents-of-another-log`.
 */
export function assertMadeFromLog(events: EventStore, version: ViewVersion): Promise<void> {
  // The documents first, because workers may be moving the checkpoints.
  return readTwice(async () => compareWithLog(events, await progressOf(version)));
}

interface DocumentsProgress {
  readonly version: number;
  readonly checkpoints: readonly Position[];
  readonly mark: LogMark | undefined;
}

async function progressOf(view: ViewVersion): Promise<DocumentsProgress> {
  return { version: view.version, checkpoints: await view.checkpoints(), mark: await view.mark() };
}

/** Returns undefined if there is no active version. */
async function readDocuments(views: ViewStore): Promise<DocumentsProgress | undefined> {
  const active = (await views.versions()).find(({ status }) => status === 'active');
  return active && progressOf(await views.open(active.version));
}

/** Throws `LogMismatchError` after one reading of the log. */
async function compareWithLog(
  events: EventStore,
  { version, checkpoints, mark }: DocumentsProgress,
): Promise<void> {
  const checkpoint = greatest(checkpoints);
  if (checkpoint === START) return;
  const head = await events.head();
  if (checkpoint > head)
    throw new LogMismatchError(
      `The documents (view version ${version}) reach position ${checkpoint}, but the log ends at ${head}.`,
    );
  if (mark) assertContains(await events.markAt(mark.position), mark);
  // Throws if the position is between two events.
  const start = least(checkpoints);
  if (start !== START && start !== mark?.position) await events.markAt(start);
}

export interface LogMatchParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly log: Logger;
}

/** How old the last check may be. A log that is replaced while the process runs is noticed after this time. */
const CHECK_COUNTS_MS = 10_000;
/** How long a mismatch counts before it is checked again. */
const MISMATCH_COUNTS_MS = 1_000;

/**
 * Whether the active version of a realm was made from its log, as this process knows it. A mismatch begins when a second
 * reading confirms the first, and ends with the first reading without one. Logs both.
 */
export class LogMatch {
  private readonly parts: LogMatchParts;
  /** What the last check has found. */
  private mismatch: LogMismatchError | undefined;
  /** When it ended, in `performance.now()`. */
  private checked_at_ms = Number.NEGATIVE_INFINITY;
  /** Why the documents could not be read at the last time. */
  private documents_error: unknown;
  private checking: Promise<LogMismatchError | undefined> | undefined;

  constructor(parts: LogMatchParts) {
    this.parts = parts;
  }

  /**
   * Returns the mismatch, undefined if there is none. Uses the last check if it is at most `max_age_ms` old. A check that
   * finds a mismatch takes a second longer. Throws what the stores throw.
   */
  async check(max_age_ms = 0): Promise<LogMismatchError | undefined> {
    if (this.isCheckedSince(max_age_ms)) return this.mismatch;
    this.checking ??= this.read().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /** Throws the mismatch if there is one. Throws what the stores throw. */
  async assert(max_age_ms = 0): Promise<void> {
    const mismatch = await this.check(max_age_ms);
    if (mismatch) throw mismatch;
  }

  /**
   * Throws if the log is not the one that the documents were made from, or if the event store cannot be asked. Waits for
   * the first check; later ones run in the background. If the documents cannot be read, nothing shows a mismatch.
   */
  async confirm(): Promise<void> {
    if (!this.mismatch && this.isCheckedSince(Number.POSITIVE_INFINITY)) {
      if (!this.isCheckedSince(CHECK_COUNTS_MS)) this.check().catch(() => undefined);
      return;
    }
    await this.assert(MISMATCH_COUNTS_MS).catch((error: unknown) => {
      if (error !== this.documents_error) throw error;
    });
  }

  private isCheckedSince(age_ms: number): boolean {
    return performance.now() - this.checked_at_ms < age_ms;
  }

  private async read(): Promise<LogMismatchError | undefined> {
    const { log, realm } = this.parts;
    const before = this.mismatch;
    const compare = (): Promise<void> => this.compare();
    this.mismatch = await (before ? compare() : readTwice(compare)).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof LogMismatchError) return error;
        throw error;
      },
    );
    this.checked_at_ms = performance.now();
    if (this.mismatch && !before) log.error({ realm }, this.mismatch.message);
    if (!this.mismatch && before) log.info({ realm }, 'the documents were made from this log again');
    return this.mismatch;
  }

  private async compare(): Promise<void> {
    const { events, views } = this.parts;
    const documents = await readDocuments(views).catch((error: unknown) => {
      this.documents_error = error;
      throw error;
    });
    if (documents) await compareWithLog(events, documents);
  }
}
