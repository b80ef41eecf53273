import { START } from '../../shared/catalog/events/envelope';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { pause, withTimeout } from '../../shared/kernel/async';
import { LogMismatchError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { assertContains, type EventStore } from '../../shared/ports/event-store';
import type { ViewStore, ViewVersion } from '../../shared/ports/view-store';

/**
 * How long after a mismatch the log is read again. A server that is not the leader any more, and does not know it yet,
 * may end before the checkpoints.
 */
const READ_AGAIN_AFTER_MS = 1_000;
/** The least time between two readings that confirm each other. Shorter, because a timer may be early. */
const CONFIRMED_AFTER_MS = 900;

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
  return readTwice(() => compareWithLog(events, version));
}

/** Does the same, but throws after one reading. */
async function compareWithLog(events: EventStore, version: ViewVersion): Promise<void> {
  // Read before the log, because workers may be moving the checkpoints.
  const checkpoints = await version.checkpoints();
  const mark = await version.mark();
  const checkpoint = greatest(checkpoints);
  if (checkpoint === START) return;
  const head = await events.head();
  if (checkpoint > head)
    throw new LogMismatchError(
      `The documents (view version ${version.version}) reach position ${checkpoint}, but the log ends at ${head}.`,
    );
  if (mark) assertContains(await events.markAt(mark.position), mark);
  // Throws if the position is between two events.
  const start = least(checkpoints);
  if (start !== START && start !== mark?.position) await events.markAt(start);
}

/**
 * Stores the event at the checkpoint as the mark of a version that an earlier release has projected, which has no mark.
 * Expects that the version was made from this log.
 */
export async function addMark(events: EventStore, version: ViewVersion): Promise<void> {
  if (await version.mark()) return;
  const checkpoints = await version.checkpoints();
  const to = greatest(checkpoints);
  const mark = to === START ? undefined : await events.markAt(to);
  if (mark?.position !== to) return;
  // If a worker moves the checkpoint meanwhile, nothing is written: the worker stores a mark.
  await version.apply({ partition: checkpoints.indexOf(to), from: to, to, phases: [], mark });
}

export interface LogMatchParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly log: Logger;
}

/**
 * How long an append waits for a check: the first one of the process, which may have to connect, and any other. Short,
 * because the append itself may then wait for a server that is unavailable.
 */
const FIRST_APPEND_WAITS_MS = 2_000;
const APPEND_WAITS_MS = 250;

/**
 * Whether the active version of a realm was made from its log, as this process knows it. A mismatch begins when a second
 * reading confirms the first, and ends with the first reading without one. Logs both.
 */
export class LogMatch {
  private readonly parts: LogMatchParts;
  /** Undefined if the last check found no mismatch, if it is not confirmed, or if there was no check yet. */
  mismatch: LogMismatchError | undefined;
  /** When the last check began that has ended without an error, in `performance.now()`. */
  checked_at_ms = Number.NEGATIVE_INFINITY;
  /** When the first check began that found a mismatch, if all later ones did, too. In `performance.now()`. */
  private found_since_ms: number | undefined;
  private checking: Promise<LogMismatchError | undefined> | undefined;

  constructor(parts: LogMatchParts) {
    this.parts = parts;
  }

  /**
   * Returns the mismatch, undefined if there is none or if it is not confirmed. Uses the last check if it is at most
   * `max_age_ms` old. Throws what the stores throw.
   */
  async check(max_age_ms = 0): Promise<LogMismatchError | undefined> {
    if (this.isCheckedSince(max_age_ms)) return this.mismatch;
    this.checking ??= this.read().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /** Throws the mismatch if there is one, after it was confirmed. Throws what the stores throw. */
  async assert(max_age_ms = 0): Promise<void> {
    let mismatch = await this.check(max_age_ms);
    while (!mismatch && this.found_since_ms !== undefined) {
      await pause(READ_AGAIN_AFTER_MS);
      mismatch = await this.check();
    }
    if (mismatch) throw mismatch;
  }

  /**
   * Checks again, but waits only for a short time. Does not throw if the stores cannot be reached. Only the first check
   * of the process waits for a mismatch to be confirmed: the append may be all that this process does, as in a command.
   */
  async recheckForAppend(): Promise<void> {
    const is_first = !Number.isFinite(this.checked_at_ms);
    const wait_ms = is_first ? FIRST_APPEND_WAITS_MS : APPEND_WAITS_MS;
    const checking: Promise<unknown> = is_first ? this.assert() : this.check();
    await withTimeout(checking, wait_ms, () => undefined).catch(() => undefined);
  }

  private isCheckedSince(age_ms: number): boolean {
    return performance.now() - this.checked_at_ms < age_ms;
  }

  private async read(): Promise<LogMismatchError | undefined> {
    const started_ms = performance.now();
    const found = await this.readMismatch();
    this.found_since_ms = found && (this.found_since_ms ?? started_ms);
    const is_confirmed =
      this.mismatch !== undefined || started_ms - (this.found_since_ms ?? started_ms) >= CONFIRMED_AFTER_MS;
    const mismatch = is_confirmed ? found : undefined;
    if (found && !mismatch) this.checkSoon();
    this.report(mismatch);
    this.mismatch = mismatch;
    this.checked_at_ms = started_ms;
    return mismatch;
  }

  /** Checks again in the background. If the stores cannot be reached then, the next check confirms the mismatch. */
  private checkSoon(): void {
    void pause(READ_AGAIN_AFTER_MS, undefined, { ref: false })
      .then(() => this.check())
      .catch(() => undefined);
  }

  private async readMismatch(): Promise<LogMismatchError | undefined> {
    const { events, views } = this.parts;
    const active = (await views.versions()).find(({ status }) => status === 'active');
    if (!active) return undefined;
    try {
      await compareWithLog(events, await views.open(active.version));
      return undefined;
    } catch (error) {
      if (error instanceof LogMismatchError) return error;
      throw error;
    }
  }

  private report(mismatch: LogMismatchError | undefined): void {
    const { log, realm } = this.parts;
    if (mismatch && !this.mismatch) log.error({ realm }, mismatch.message);
    if (!mismatch && this.mismatch) log.info({ realm }, 'the documents were made from this log again');
  }
}
