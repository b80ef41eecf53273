import type { ServerResponse } from 'node:http';

/** A larger body is written in pieces of this size. Each one waits until the client has taken those before it. */
const PIECE_BYTES = 262_144;
/** Smaller bodies fit into the buffers of the operating system, so nobody has to wait for their clients. */
const COUNTED_BYTES_MIN = 65_536;
/** The most memory of a process for bodies that clients have not read (docs/http.md#answers). */
const UNREAD_BYTES_MAX = 64_000_000;

/** The size of each body that a client is reading. The one of which nothing was taken for the longest time is first. */
const unread = new Map<ServerResponse, number>();
let unread_bytes = 0;

/** Ends the response with the body. Cuts the connections of the slowest clients if too much is unread. */
export function endWithBody(response: ServerResponse, body: string | Buffer): void {
  if (body.length < COUNTED_BYTES_MIN || response.req.method === 'HEAD') {
    response.end(body);
    return;
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  unread.set(response, bytes.length);
  unread_bytes += bytes.length;
  response.once('close', () => forget(response));
  for (const slowest of unread.keys()) {
    if (unread_bytes <= UNREAD_BYTES_MAX) break;
    forget(slowest);
    slowest.destroy();
  }
  writeFrom(response, bytes, 0);
}

function forget(response: ServerResponse): void {
  unread_bytes -= unread.get(response) ?? 0;
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
    if (!unread.delete(response)) return;
    unread.set(response, body.length);
    writeFrom(response, body, end);
  });
}
