import compression from 'compression';
import type { Response } from 'express';

/** Smaller bodies fit a packet or two: compressing them costs more than it saves (decisions §9). */
const COMPRESSED_BYTES_MIN = 1024;

const compress = compression({ threshold: COMPRESSED_BYTES_MIN });

/**
 * Ends the response with its whole body, compressed where that is worth it and the client takes it. Only here is it
 * known whether it may be: what compresses by itself would stand in the way of every answer.
 */
export function endWith(res: Response, body: string): void {
  const length = Buffer.byteLength(body);
  if (length >= COMPRESSED_BYTES_MIN && res.req.headers['accept-encoding'] !== undefined)
    compress(res.req, res, () => {});
  res.setHeader('Content-Length', length);
  res.end(body);
}
