import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import compression from 'compression';
import type { Request, Response } from 'express';

/** Smaller bodies fit a packet or two: compressing them costs more than it saves (decisions §9). */
const COMPRESSED_BYTES_MIN = 1024;
/** Up to here a body is compressed at once, in a fraction of the time that a stream takes to be set up and waited for. */
const AT_ONCE_BYTES_MAX = 65_536;

const BROTLI_QUALITY = 4;

const compressStream = compression({ threshold: COMPRESSED_BYTES_MIN });

/**
 * Ends the response with its whole body, a text, compressed where that is worth it and the client takes it. Only here
 * is it known whether it may be: what compresses by itself would stand in the way of every answer.
 */
export function endWith(res: Response, body: string): void {
  const length = Buffer.byteLength(body);
  const accepted = res.req.headers['accept-encoding'];
  const worth_it = length >= COMPRESSED_BYTES_MIN && res.req.method !== 'HEAD';
  if (accepted === undefined || !worth_it) end(res, body, length);
  // Weights are weighed by who knows all of their rules.
  else if (length > AT_ONCE_BYTES_MAX || accepted.includes(';'))
    compressStream(res.req, res, () => end(res, body, length));
  else endAtOnce(res, body, length);
}

function endAtOnce(res: Response, body: string, length: number): void {
  const encoding = encodingOf(res.req);
  if (encoding !== undefined) res.setHeader('Content-Encoding', encoding);
  if (encoding === undefined) end(res, body, length);
  else if (encoding === 'br') end(res, brotli(body, length));
  else end(res, gzipSync(body));
}

function encodingOf(req: Request): 'br' | 'gzip' | undefined {
  return (['br', 'gzip'] as const).find((encoding) => req.acceptsEncodings(encoding));
}

function brotli(body: string, length: number): Buffer {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return brotliCompressSync(body, {
    params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: length },
  });
}

function end(res: Response, body: string | Buffer, length = body.length): void {
  res.setHeader('Content-Length', length);
  res.end(body);
}
