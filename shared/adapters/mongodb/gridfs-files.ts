import { createHash } from 'node:crypto';
import type { Binary, Collection, ObjectId } from 'mongodb';
import { CatalogError } from '../../kernel/errors';
import type { ByteRange, StoredBlob } from '../../ports/blob-store';
import type { MongoConnection } from './connection';

/** 255 KB, as every driver cuts. */
const CHUNK_BYTES = 261_120;

interface FileDocument {
  readonly _id: ObjectId;
  readonly length: number;
  readonly chunkSize: number;
  readonly uploadDate: Date;
  readonly filename: string;
}

interface ChunkDocument {
  readonly files_id: ObjectId;
  readonly n: number;
  readonly data: Buffer | Binary;
}

/**
 * Files of one GridFS bucket, in the format that every driver and tool reads. Written and read here a chunk at a time,
 * each in a call with a deadline of its own; the driver's streams know no deadline and read 16 MB ahead.
 */
export class GridFsFiles {
  private readonly connection: MongoConnection;
  private readonly files: Collection<FileDocument>;
  private readonly chunks: Collection<ChunkDocument>;

  constructor(connection: MongoConnection, bucket: string) {
    this.connection = connection;
    this.files = connection.collection(`${bucket}.files`);
    this.chunks = connection.collection(`${bucket}.chunks`);
  }

  async makeIndexes(): Promise<void> {
    await this.connection.run(() => this.chunks.createIndex({ files_id: 1, n: 1 }, { unique: true }));
  }

  /** Throws on what `bytes` throws; what was written until then is there to be removed. */
  async write(id: ObjectId, bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    const hash = createHash('sha256');
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let size_bytes = 0;
    let filled = 0;
    let n = 0;
    const flush = async (): Promise<void> => {
      const chunk = { files_id: id, n: n++, data: buffer.subarray(0, filled) };
      await this.connection.run(() => this.chunks.insertOne(chunk));
      filled = 0;
    };
    for await (const given of bytes) {
      hash.update(given);
      size_bytes += given.byteLength;
      for (let at = 0; at < given.byteLength; ) {
        const part = given.subarray(at, at + CHUNK_BYTES - filled);
        buffer.set(part, filled);
        filled += part.byteLength;
        at += part.byteLength;
        if (filled === CHUNK_BYTES) await flush();
      }
    }
    if (filled > 0) await flush();
    const blob = { hash: hash.digest('hex'), size_bytes };
    const file = { _id: id, length: size_bytes, chunkSize: CHUNK_BYTES, uploadDate: new Date() };
    await this.connection.run(() => this.files.insertOne({ ...file, filename: blob.hash }));
    return blob;
  }

  /** Holds nothing open between two chunks. Throws `CatalogError('unavailable')` where the file is removed meanwhile. */
  async *read(id: ObjectId, { first, last }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let at = first; at <= last; ) {
      const n = Math.floor(at / CHUNK_BYTES);
      const start = n * CHUNK_BYTES;
      const data = await this.chunk(id, n);
      yield data.subarray(at - start, last + 1 - start);
      at = start + CHUNK_BYTES;
    }
  }

  private async chunk(id: ObjectId, n: number): Promise<Uint8Array> {
    const found = await this.connection.run(() =>
      this.chunks.findOne({ files_id: id, n }, { projection: { data: 1 }, promoteBuffers: true }),
    );
    if (!found) throw new CatalogError('unavailable', { message: 'a blob was deleted while it was read' });
    return found.data as Buffer;
  }

  /** Also where it is there in part, or not at all. */
  async remove(id: ObjectId): Promise<void> {
    await this.connection.run(() => this.files.deleteOne({ _id: id }));
    await this.connection.run(() => this.chunks.deleteMany({ files_id: id }));
  }
}
