/** An event as the stand-in stores it. */
export interface StoredEvent {
  /** Commit and prepare position, which are equal here because every event is its own transaction. */
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly id: string;
  readonly type: string;
  readonly content_type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly created_ms: number;
}

export type Proposal = Pick<StoredEvent, 'id' | 'type' | 'content_type' | 'data' | 'metadata'>;

export type Expected =
  | { readonly kind: 'any' | 'no_stream' | 'stream_exists' }
  | { readonly kind: 'revision'; readonly revision: bigint };

export type WriteOutcome =
  | { readonly result: 'written'; readonly revision: bigint; readonly position: bigint }
  /** `current` is undefined if the stream does not exist. */
  | { readonly result: 'wrong_revision'; readonly current: bigint | undefined }
  | { readonly result: 'deleted' }
  /** The same events are being written to disk. The server does not answer such a repeat. */
  | { readonly result: 'dropped' };

/** Revision of a tombstone, and `$tb` of a soft-deleted stream. */
export const DELETED = 2n ** 63n - 1n;

/** One line of the log: all events of one append. */
export function toLine(events: readonly StoredEvent[]): string {
  const rows = events.map((event) => [
    event.position.toString(),
    event.stream,
    event.revision.toString(),
    event.id,
    event.type,
    event.content_type,
    Buffer.from(event.data).toString('base64'),
    Buffer.from(event.metadata).toString('base64'),
    event.created_ms,
  ]);
  return `${JSON.stringify(rows)}\n`;
}

type Row = [string, string, string, string, string, string, string, string, number];

export function fromLine(line: string): StoredEvent[] {
  return (JSON.parse(line) as Row[]).map(
    ([position, stream, revision, id, type, content_type, data, metadata, created_ms]) => ({
      position: BigInt(position),
      stream,
      revision: BigInt(revision),
      id,
      type,
      content_type,
      data: Buffer.from(data, 'base64'),
      metadata: Buffer.from(metadata, 'base64'),
      created_ms,
    }),
  );
}
