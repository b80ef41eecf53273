import type { EncodedEvent, StreamName } from '../../catalog/events/envelope';
import { type AppendResult, NO_STREAM } from '../../ports/event-store';
import type { Connection } from './connection';
import type { SqlInput } from './statement-cache';

/** The most events of one transaction, so that a flood of appends does not hold the process up for long. */
const GROUP_EVENTS_MAX = 1_000;

interface PendingAppend {
  readonly stream: StreamName;
  readonly expected_revision: number;
  readonly ids: readonly string[];
  /** id, type, schema_version, data, metadata. */
  readonly rows: readonly (readonly SqlInput[])[];
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/** What one append of a group came to, before the group is on disk. */
type Outcome = { readonly result: AppendResult } | { readonly error: unknown };

/**
 * Group commit: the appends that arrive in one turn of the event loop share one transaction and one fsync. Each of
 * them is all or nothing on its own, and none is answered before the group is on disk.
 */
export class AppendQueue {
  private readonly connection: Connection;
  private readonly onCommit: () => void;
  private waiting: PendingAppend[] = [];
  private flushing: Promise<void> | undefined;

  constructor(connection: Connection, onCommit: () => void) {
    this.connection = connection;
    this.onCommit = onCommit;
  }

  append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    const ids = events.map((event) => event.id);
    const rows = events.map((event) => [
      event.id,
      event.type,
      event.schema_version,
      JSON.stringify(event.data),
      JSON.stringify(event.metadata),
    ]);
    return new Promise((resolve, reject) => {
      this.waiting.push({ stream, expected_revision, ids, rows, resolve, reject });
      this.flushing ??= this.flush();
    });
  }

  /** Resolves when everything that was appended so far is answered. */
  async drain(): Promise<void> {
    await this.flushing;
  }

  private async flush(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve));
      const group = this.nextGroup();
      try {
        const outcomes = await this.connection.attempt(() => this.commit(group));
        group.forEach((append, index) => {
          settle(append, outcomes[index]!);
        });
        this.onCommit();
      } catch (error) {
        for (const append of group) append.reject(error);
      }
    } while (this.waiting.length > 0);
    // In the same step as the last look: an append from here on starts a flush of its own.
    this.flushing = undefined;
  }

  private nextGroup(): PendingAppend[] {
    let events = 0;
    const end = this.waiting.findIndex((append, index) => {
      events += append.rows.length;
      return index > 0 && events > GROUP_EVENTS_MAX;
    });
    return this.waiting.splice(0, end === -1 ? this.waiting.length : end);
  }

  private commit(group: readonly PendingAppend[]): Outcome[] {
    return this.connection.transaction(() => group.map((append) => this.attemptOne(append)));
  }

  /** One append inside the group's transaction: a failure of its own undoes it alone. */
  private attemptOne(append: PendingAppend): Outcome {
    const actual = this.lastRevision(append.stream);
    if (actual !== append.expected_revision) return { result: this.earlierAnswer(append, actual) };
    this.connection.run('SAVEPOINT one_append');
    try {
      const position = this.insert(append);
      this.connection.run('RELEASE one_append');
      const revision = append.expected_revision + append.rows.length;
      return { result: { outcome: 'appended', revision, position } };
    } catch (error) {
      if (!isConstraintFailure(error)) throw error;
      this.connection.run('ROLLBACK TO one_append');
      this.connection.run('RELEASE one_append');
      return { error };
    }
  }

  private lastRevision(stream: StreamName): number {
    const last = this.connection.value('SELECT max(revision) FROM events WHERE stream = ?', [stream]);
    return last === undefined || last === null ? NO_STREAM : Number(last);
  }

  /** The first answer where these very events stand right after the expected revision, else a lost race. */
  private earlierAnswer({ stream, expected_revision, ids }: PendingAppend, actual: number): AppendResult {
    const stored = this.connection.all(
      'SELECT id, position FROM events WHERE stream = ? AND revision > ? AND revision <= ? ORDER BY revision',
      [stream, expected_revision, expected_revision + ids.length],
    );
    if (stored.length !== ids.length || !stored.every(([id], index) => id === ids[index]))
      return { outcome: 'wrong_revision', actual };
    const position = BigInt(stored[stored.length - 1]![1]!);
    return { outcome: 'appended', revision: expected_revision + ids.length, position };
  }

  private insert({ stream, expected_revision, rows }: PendingAppend): bigint {
    let position = 0n;
    rows.forEach((row, index) => {
      const { lastInsertRowid } = this.connection.run(
        'INSERT INTO events (stream, revision, id, type, schema_version, data, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)',
        [stream, expected_revision + 1 + index, ...row],
      );
      position = BigInt(lastInsertRowid);
    });
    return position;
  }
}

function settle(append: PendingAppend, outcome: Outcome): void {
  if ('result' in outcome) append.resolve(outcome.result);
  else append.reject(outcome.error);
}

function isConstraintFailure(error: unknown): boolean {
  return error instanceof Error && String((error as { code?: unknown }).code).startsWith('SQLITE_CONSTRAINT');
}
