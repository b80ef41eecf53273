import { readLog } from '../../projections/engine/read-log';
import { decodeEvent } from '../../shared/catalog/events/codec';
import { parseStreamName, START } from '../../shared/catalog/events/envelope';
import type { BlobHash } from '../../shared/ports/blob-store';
import type { EventStore } from '../../shared/ports/event-store';

/** The bytes that some media of one environment refers to, or referred to until lately. */
export interface References {
  has(hash: BlobHash): boolean;
}

/**
 * As the log has it at the call: documents could be behind, or have an event parked, and what is deleted by mistake is
 * gone. A media that was deleted at `before_ms` (Unix time) or later counts still: pages that were sent before ask for
 * its pictures. Throws where a media's event cannot be read, or `signal` aborts.
 */
export async function referencesIn(
  events: EventStore,
  before_ms: number,
  signal: AbortSignal,
): Promise<References> {
  const by_media = new Map<string, number[]>();
  let seen = 0;
  for await (const batch of readLog(events, { after: START, to: await events.head(), signal })) {
    seen += batch.events.length;
    for (const recorded of batch.events) {
      const stream = parseStreamName(recorded.stream);
      if (stream?.category !== 'media') continue;
      const event = decodeEvent(recorded);
      if (event.type === 'MediaUploaded') by_media.set(stream.id, [mark(event.data.hash)]);
      if (event.type === 'MediaProcessed') {
        const { picture, variants } = event.data;
        by_media.get(stream.id)?.push(...[picture, ...variants].map(({ hash }) => mark(hash)));
      }
      const { occurred_at } = recorded.metadata;
      if (event.type === 'MediaDeleted' && Date.parse(occurred_at) < before_ms) by_media.delete(stream.id);
    }
  }
  signal.throwIfAborted();
  // Bytes without any log are another log's: its server's address, or its namespace, is not what it was.
  if (seen === 0) return { has: () => true };
  const marks = new Set([...by_media.values()].flat());
  return { has: (hash) => marks.has(mark(hash)) };
}

/** A hash's first 48 bits as a number, for millions to fit in memory: two that share them are kept both. */
const mark = (hash: BlobHash): number => Number.parseInt(hash.slice(0, 12), 16);
