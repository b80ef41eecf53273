import type { ServerResponse } from 'node:http';

/**
 * A large body is written in pieces of this size. The next piece is written after `drain`. Only complete pieces count as
 * read, so a client that takes 16 kB/s is not cut.
 */
const PIECE_BYTES = 32_768;
/** Smaller bodies are sent at once: in pieces, a process sends a third fewer pages of 50 expanded items. */
const COUNTED_BYTES_MIN = 262_144;
/** How much a process may hold of bodies whose clients do not read them (docs/http.md#answers). */
const UNREAD_BYTES_MAX = 64_000_000;

/** A client that has taken something within this time is not cut: it is reading. */
const READING_MS = 2_000;

interface Unread {
  readonly bytes: number;
  /** When the client last took something, by `performance.now()`. */
  readonly taken_ms: number;
}

/** The bodies that clients are reading. The one of which nothing was taken for the longest time is first. */
const unread = new Map<ServerResponse, Unread>();
let unread_bytes = 0;

/** Ends the response with the body. Cuts the connections of clients that do not read if too much is unread. */
export function endWithBody(response: ServerResponse, body: string | Buffer): void {
  // The client has left. `close` is not emitted again.
  if (response.destroyed) return;
  if (body.length < COUNTED_BYTES_MIN || response.req.method === 'HEAD') {
    response.end(body);
    return;
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const now_ms = performance.now();
  unread.set(response, { bytes: bytes.length, taken_ms: now_ms });
  unread_bytes += bytes.length;
  response.once('close', () => forget(response));
  for (const [slowest, { taken_ms }] of unread) {
    if (unread_bytes <= UNREAD_BYTES_MAX || now_ms - taken_ms < READING_MS) break;
    forget(slowest);
    slowest.destroy();
  }
  writeFrom(response, bytes, 0);
}

function forget(response: ServerResponse): void {
  unread_bytes -= unread.get(response)?.bytes ?? 0;
  unread.delete(response);
}

function writeFrom(response: ServerResponse, body: Buffer, start: number): void {
  let end = start + PIECE_BYTES;
  while (end < body.length && response.write(body.subarray(end - PIECE_BYTES, end))) end += PIECE_BYTES;
  if (end >= body.length) {
    response.end(body.subarray(end - PIECE_BYTES));
    return;
  }
  response.once('drain', () => {
    // Moves the response to the end: it was the last to make progress.
    if (!unread.delete(response)) return;
    unread.set(response, { bytes: body.length, taken_ms: performance.now() });
    writeFrom(response, body, end);
  });
}
