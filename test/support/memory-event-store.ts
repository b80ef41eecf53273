import { randomUUID } from 'node:crypto';
import type {
  EncodedEvent,
  JsonObject,
  Position,
  RecordedEvent,
  StreamName,
} from '../../shared/catalog/events/envelope';
import {
  type AppendResult,
  type EventStore,
  type LogBatch,
  type LogMark,
  NO_STREAM,
} from '../../shared/ports/event-store';
import { MemorySnapshotStore } from './memory-snapshot-store';

/** A log in memory, for tests that replay many histories. */
export class MemoryEventStore implements EventStore {
  readonly log: RecordedEvent[] = [];
  readonly snapshots = new MemorySnapshotStore();
  private readonly listeners = new Set<() => void>();

  async append(
    stream: StreamName,
    expected: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult> {
    await beforeSend?.();
    const stored = this.log.filter((event) => event.stream === stream);
    const actual = stored.length - 1;
    if (actual !== expected) {
      const same = stored.slice(expected + 1).filter(({ id }, index) => id === events[index]?.id);
      const last = same.at(-1);
      if (last && same.length === events.length)
        return { outcome: 'appended', revision: last.revision, position: last.position };
      return { outcome: 'wrong_revision', actual: actual < 0 ? NO_STREAM : actual };
    }
    for (const [index, event] of events.entries())
      this.log.push({
        ...event,
        stream,
        revision: actual + 1 + index,
        position: BigInt(this.log.length + 1),
      });
    this.notify();
    return { outcome: 'appended', revision: actual + events.length, position: await this.head() };
  }

  /** Appends at the end of the stream, whatever its revision. */
  async push(
    stream: StreamName,
    type: string,
    data: JsonObject,
    partition_key: string,
    occurred_at = '2026-01-01T00:00:00.000Z',
  ): Promise<RecordedEvent> {
    const revision = this.log.filter((event) => event.stream === stream).length - 1;
    const metadata = { occurred_at, partition_key, source: 'system' } as const;
    await this.append(stream, revision, [{ id: randomUUID(), type, schema_version: 1, data, metadata }]);
    return this.log.at(-1)!;
  }

  /** Replaces parts of a stored event. */
  amend(position: Position, change: Partial<RecordedEvent>): void {
    const index = Number(position) - 1;
    this.log[index] = { ...this.log[index]!, ...change };
  }

  async readStream(stream: StreamName, from = 0, count?: number): Promise<RecordedEvent[]> {
    return this.log.filter((event) => event.stream === stream && event.revision >= from).slice(0, count);
  }

  async readBackwards(count: number, before?: Position): Promise<RecordedEvent[]> {
    const earlier = this.log.filter(({ position }) => before === undefined || position < before);
    return earlier.reverse().slice(0, count);
  }

  truncate(): Promise<void> {
    throw new Error('only stores remove events');
  }

  async *subscribe(options: {
    after: Position;
    signal: AbortSignal;
    batch_size?: number;
  }): AsyncGenerator<LogBatch, void, undefined> {
    const { signal, batch_size = 256 } = options;
    let after = Number(options.after);
    while (!signal.aborted) {
      const events = this.log.slice(after, after + batch_size);
      if (events.length === 0) {
        await this.change(signal);
        continue;
      }
      after += events.length;
      yield { events, position: BigInt(after), caught_up: after === this.log.length };
    }
  }

  async head(): Promise<Position> {
    return BigInt(this.log.length);
  }

  async markAt(position: Position): Promise<LogMark | undefined> {
    const event = this.log[Math.max(0, Number(position) - 1)];
    return event && { position: event.position, event_id: event.id };
  }

  async close(): Promise<void> {}

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }

  private change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.listeners.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.listeners.add(done);
      signal.addEventListener('abort', done);
    });
  }
}
