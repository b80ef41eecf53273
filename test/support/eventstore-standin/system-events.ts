import { randomUUID } from 'node:crypto';
import type { Proposal, StoredEvent } from './records';

const EMPTY = new Uint8Array(0);

export function systemEvent(type: string, data: string): Proposal {
  return {
    id: randomUUID(),
    type,
    content_type: 'application/json',
    data: Buffer.from(data),
    metadata: EMPTY,
  };
}

/** Event that ends its stream. */
export function tombstoneEvent(): Proposal {
  return systemEvent('$streamDeleted', '');
}

/** Event of the stream `$$<stream>` that hides the stream's events below `before`. */
export function metadataEvent(before: bigint): Proposal {
  return systemEvent('$metadata', `{"$tb":${before}}`);
}

export function truncateBeforeOf(event: StoredEvent): { stream: string; before: bigint } | undefined {
  if (event.type !== '$metadata' || !event.stream.startsWith('$$')) return undefined;
  const before = /"\$tb":(\d+)/.exec(Buffer.from(event.data).toString('utf8'))?.[1];
  return before === undefined ? undefined : { stream: event.stream.slice(2), before: BigInt(before) };
}
