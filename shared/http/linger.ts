import type { Request, Response } from 'express';

/** A client that is answered while it is still sending may go on with as much, for as long, before it is cut off. */
const LINGER_BYTES = 16_777_216;
const LINGER_MS = 10_000;

/**
 * For a request that is answered before its body was read to the end: the rest is read and thrown away, so that the
 * client gets to the answer (a connection closed at once would lose it, RFC 9112 §9.6), but not for ever.
 */
export function linger(req: Request, res: Response): void {
  if (req.complete || req.destroyed) return;
  let left = LINGER_BYTES;
  const cut = (): void => {
    // Not before the answer is on its way.
    if (res.writableFinished) req.socket.destroy();
    else res.once('finish', () => req.socket.destroy());
  };
  const timer = setTimeout(cut, LINGER_MS);
  timer.unref();
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
  req.on('error', () => {});
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  req.resume();
}
