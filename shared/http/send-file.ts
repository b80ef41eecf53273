import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { CatalogError, type Condition } from '../kernel/errors';
import type { BlobStore } from '../ports/blob-store';
import { rangeOf } from './byte-range';
import { matchesNone } from './etag';

/** Bytes of the blob store as an answer. */
export interface FileAnswer {
  readonly blobs: Pick<BlobStore, 'size' | 'read'>;
  readonly hash: string;
  readonly content_type: string;
  /** What it is where the bytes are not there. */
  readonly missing: Condition;
  readonly headers?: Readonly<Record<string, string>>;
}

/** With ETag and 304, a single range as 206 or 416; HEAD without the bytes. Throws `missing`, `range_unsatisfiable`, and what the store throws. */
export async function sendFile(req: Request, res: Response, file: FileAnswer): Promise<void> {
  const size_bytes = await file.blobs.size(file.hash);
  if (size_bytes === undefined) throw new CatalogError(file.missing);
  const etag = `"${file.hash}"`;
  const told = { ETag: etag, 'Accept-Ranges': 'bytes', ...file.headers };
  const tell = (): void => {
    for (const [name, value] of Object.entries(told)) res.setHeader(name, value);
  };
  if (matchesNone(req.get('if-none-match'), etag)) {
    tell();
    res.status(304).end();
    return;
  }
  const condition = req.get('if-range');
  const wanted = req.method === 'GET' && (condition === undefined || condition === etag);
  const range = wanted ? rangeOf(req.get('range'), size_bytes) : undefined;
  if (range === 'unsatisfiable') {
    res.setHeader('Content-Range', `bytes */${size_bytes}`);
    throw new CatalogError('range_unsatisfiable');
  }
  const { first, last } = range ?? { first: 0, last: size_bytes - 1 };
  const reading = req.method === 'HEAD' ? undefined : await file.blobs.read(file.hash, range);
  if (reading === undefined && req.method !== 'HEAD') throw new CatalogError(file.missing);
  tell();
  res.setHeader('Content-Type', file.content_type);
  res.setHeader('Content-Length', last - first + 1);
  if (range) res.setHeader('Content-Range', `bytes ${first}-${last}/${size_bytes}`);
  res.status(range ? 206 : 200);
  if (reading === undefined) res.end();
  else await send(res, reading.bytes);
}

/** A client that has seen enough is no failure. */
async function send(res: Response, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(Readable.from(bytes, { objectMode: false }), res);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
