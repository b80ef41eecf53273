import { type Position, START } from '../../shared/catalog/events/envelope';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { pause, SharedRead } from '../../shared/kernel/async';
import { CatalogError, isOutage, LogMismatchError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import {
  type AppendResult,
  assertContains,
  type EventStore,
  type LogMark,
} from '../../shared/ports/event-store';
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
  const start = least(checkpoints);
  const assertReached = async (): Promise<void> => {
    const head = await events.head();
    if (checkpoint > head)
      throw new LogMismatchError(
        `The documents (view version ${version}) reach position ${checkpoint}, but the log ends at ${head}.`,
      );
  };
  const assertMarked = async (): Promise<void> => {
    if (mark) assertContains(await events.markAt(mark.position), mark);
  };
  const assertReadable = async (): Promise<void> => {
    // Throws if the position is between two events.
    if (start !== START && start !== mark?.position) await events.markAt(start);
  };
  // At the same time, because writes wait for this after each new connection.
  await Promise.all([assertReached(), assertMarked(), assertReadable()]);
}

export interface LogMatchParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly log: Logger;
}

/** How old the last check may be. A log that is replaced behind the same connection is noticed after this time. */
const CHECK_COUNTS_MS = 10_000;
/** How long a mismatch counts before it is checked again. */
const MISMATCH_COUNTS_MS = 1_000;
/** Maximum number of calls, and of checks, while the connection keeps changing. */
const ATTEMPTS = 4;

/**
 * Whether the active version of a realm was made from its log, as this process knows it, and whether the log has the
 * newest event that this process has appended. A mismatch begins when a second reading confirms the first, and ends with
 * the first reading without one. Logs both.
 */
export class LogMatch {
  private readonly parts: LogMatchParts;
  private readonly checks = new SharedRead<LogMismatchError | undefined>();
  /** What the last check has found. */
  private mismatch: LogMismatchError | undefined;
  /** When the last check ended, in `performance.now()`, and the number of the connection before it began. */
  private checked: { readonly at_ms: number; readonly connection: number | undefined } | undefined;
  /** The active version of the last check. */
  private version: number | undefined;
  /** The newest event that this process has appended. Documents may not have it yet. */
  private newest: LogMark | undefined;
  /** Why the documents could not be read at the last time. */
  private documents_error: unknown;

  constructor(parts: LogMatchParts) {
    this.parts = parts;
  }

  /**
   * Returns the mismatch, undefined if there is none. Uses the last check if it began at most `max_age_ms` ago, otherwise
   * one that begins after this call. A check that finds a mismatch takes a second longer. Throws what the stores throw.
   */
  check(max_age_ms = 0): Promise<LogMismatchError | undefined> {
    return this.checks.get(max_age_ms, () => this.read());
  }

  /** Throws the mismatch if there is one. Throws what the stores throw. */
  async assert(max_age_ms = 0): Promise<void> {
    const mismatch = await this.check(max_age_ms);
    if (mismatch) throw mismatch;
  }

  /**
   * Runs a call of the event store on the right log, and returns its result. Throws if the log is not the one that the
   * documents were made from, or if the event store cannot be asked. If the documents cannot be read, nothing shows that
   * they do not match.
   *
   * The log behind a new connection may be another one. So the call waits for a check that began after the connection was
   * made. If another connection is made during the call, it is unknown over which one the call was sent. Then runs the
   * call again. It must be safe to repeat. While the connection stays the same, later checks run in the background.
   */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const connection = await this.confirm();
      const [outcome] = await Promise.allSettled([call()]);
      const is_same = this.parts.events.connection_number === connection;
      if (outcome.status === 'fulfilled' && is_same) return outcome.value;
      if (outcome.status === 'rejected' && (is_same || isOutage(outcome.reason))) throw outcome.reason;
    }
    throw connectionIsUnstable();
  }

  /**
   * Runs an append as `run` does. `event_id` is the id of its last event. If the events may be stored, does not throw
   * `unavailable`, but `database_timeout`.
   */
  async append(event_id: string, call: () => Promise<AppendResult>): Promise<AppendResult> {
    const { newest } = this;
    let may_be_stored = false;
    try {
      const result = await this.run(async () => {
        const answered = await call();
        may_be_stored ||= answered.outcome === 'appended';
        return answered;
      });
      if (result.outcome !== 'appended') return result;
      // A position before `newest` means a repeated append or another log. The check tells them apart.
      if (newest && result.position <= newest.position) await this.confirmAfterwards();
      const is_newest = result.position > (this.newest?.position ?? START);
      if (is_newest && !result.is_removed) this.newest = { position: result.position, event_id };
      return result;
    } catch (error) {
      if (!may_be_stored || !(error instanceof CatalogError) || error.condition !== 'unavailable')
        throw error;
      throw new CatalogError('database_timeout', { message: error.message, retry_after_s: 1, cause: error });
    }
  }

  /**
   * Throws if a check that begins now finds a mismatch. For an answer that says that something is not in the log. The log
   * may be replaced behind a proxy that keeps its connections to this process.
   */
  async confirmAfterwards(): Promise<void> {
    if (this.parts.events.connection_number !== undefined) await this.assertIfReadable(0);
  }

  /** Waits until a check has confirmed the log over the present connection. Returns the number of this connection. */
  private async confirm(): Promise<number | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { connection_number } = this.parts.events;
      const { checked } = this;
      const is_checked = checked !== undefined && checked.connection === connection_number;
      if (is_checked && !this.mismatch) {
        if (performance.now() - checked.at_ms > CHECK_COUNTS_MS) this.check().catch(() => undefined);
        return connection_number;
      }
      const could_read = await this.assertIfReadable(is_checked ? MISMATCH_COUNTS_MS : 0);
      if (!could_read) return connection_number;
    }
    throw connectionIsUnstable();
  }

  /** As `assert`, but returns false if the documents cannot be read. */
  private async assertIfReadable(max_age_ms: number): Promise<boolean> {
    try {
      await this.assert(max_age_ms);
      return true;
    } catch (error) {
      if (error !== this.documents_error) throw error;
      return false;
    }
  }

  private async read(): Promise<LogMismatchError | undefined> {
    const { log, realm, events } = this.parts;
    const before = this.mismatch;
    const connection = events.connection_number;
    const compare = (): Promise<void> => this.compare();
    this.mismatch = await (before ? compare() : readTwice(compare)).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof LogMismatchError) return error;
        throw error;
      },
    );
    this.checked = { at_ms: performance.now(), connection };
    if (this.mismatch && !before) log.error({ realm }, this.mismatch.message);
    if (!this.mismatch && before) log.info({ realm }, 'the documents were made from this log again');
    return this.mismatch;
  }

  private async compare(): Promise<void> {
    const { events, views } = this.parts;
    const [documents] = await Promise.allSettled([readDocuments(views)]);
    if (documents.status === 'fulfilled') {
      const version = documents.value?.version;
      // The documents were made anew, perhaps from another log. It may rightly lack the newest event.
      if (this.version !== undefined && version !== this.version) this.newest = undefined;
      this.version = version;
    }
    const { newest } = this;
    const assertHasNewest = async (): Promise<void> => {
      if (newest) assertContains(await events.markAt(newest.position), newest);
    };
    const found = documents.status === 'fulfilled' ? documents.value : undefined;
    await Promise.all([found && compareWithLog(events, found), assertHasNewest()]);
    if (documents.status === 'rejected') {
      this.documents_error = documents.reason;
      throw documents.reason;
    }
  }
}

function connectionIsUnstable(): CatalogError {
  return new CatalogError('unavailable', {
    message: 'the connection to the event store does not last',
    retry_after_s: 1,
  });
}
