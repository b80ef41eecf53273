import { createHash } from 'node:crypto';
import { type Binary, type Collection, ObjectId } from 'mongodb';
import type { Environment } from '../../catalog/realm';
import { pause } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import type { OutageReport } from '../../kernel/outages';
import type {
  BlobArea,
  BlobHash,
  BlobReading,
  BlobStore,
  ByteRange,
  StoredBlob,
} from '../../ports/blob-store';
import { isDuplicateKey, MongoConnection } from './connection';

/** If a file has been in `<area>.loose` for longer than this, the process that wrote it has died. */
const LEFT_OVER_MS = 3_600_000;
const RETRY_MS = 500;
/** 255 KB, the default chunk size of GridFS. */
const CHUNK_BYTES = 261_120;

export interface GridFsBlobStoreOptions {
  /** The same URL as for the view store. The blobs are stored in the environment's database, next to its documents. */
  readonly url: string;
  readonly environment: Environment;
  readonly area: BlobArea;
  /** Returns Unix milliseconds, for `stored_at`. */
  readonly now?: () => number;
  /** Deadline of a call; 4.5 s by default. */
  readonly deadline_ms?: number;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport;
}

/** Maps the hash of a blob to the file with its bytes. A blob is visible if it has such a document. */
interface BlobDocument {
  readonly _id: BlobHash;
  readonly file: ObjectId;
  readonly size_bytes: number;
  readonly stored_at_ms: number;
}

/**
 * A file that may have no blob. The document is stored before the file's first chunk. Stored in `<area>.loose`.
 */
interface UnreferencedFile {
  readonly _id: ObjectId;
  /** Unix milliseconds. */
  readonly since_ms: number;
  /** True if the file is being removed. A put that is still writing it must fail. */
  readonly given_up: boolean;
}

/**
 * Stores the blobs of one area on GridFS. `<area>.files` and `<area>.chunks` contain the bytes under generated ids, and
 * `<area>.blobs` maps each hash to its file. The hash is only known after the last byte, so a put writes a file and
 * then the document that makes it visible. A delete removes that document and then the file. `<area>.loose` lists the
 * files that may have no blob, so that the store finds the files that a crash left behind without reading all files. The
 * constructor does not need the server.
 */
export class GridFsBlobStore implements BlobStore {
  private readonly connection: MongoConnection;
  private readonly files: GridFsFiles;
  private readonly blobs: Collection<BlobDocument>;
  private readonly unreferenced: Collection<UnreferencedFile>;
  private readonly now: () => number;
  private readonly closing = new AbortController();
  private prepared: Promise<void> | undefined;
  /** Resolves when the files that dead processes left behind are removed. Never rejects. */
  readonly left_overs_removed: Promise<void>;

  constructor({ environment, area, now = Date.now, ...options }: GridFsBlobStoreOptions) {
    this.connection = new MongoConnection({ ...options, realm: environment });
    this.files = new GridFsFiles(this.connection, area);
    this.blobs = this.connection.collection(`${area}.blobs`);
    this.unreferenced = this.connection.collection(`${area}.loose`);
    this.now = now;
    this.left_overs_removed = this.removeLeftOversUntilSuccess();
  }

  async put(bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    await this.prepare();
    const file = new ObjectId();
    await this.recordUnreferenced(file);
    const blob = await this.receive(file, bytes);
    // If this call fails, the file may have a blob or not. `removeLeftOvers` finds out later.
    await this.publish(blob, file);
    await this.removeUnlessReferenced(file).catch(() => undefined);
    return blob;
  }

  private async receive(file: ObjectId, bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    try {
      const blob = await this.files.write(file, bytes);
      const renewed = await this.run(() =>
        this.unreferenced.updateOne({ _id: file, given_up: false }, { $set: { since_ms: this.now() } }),
      );
      if (renewed.matchedCount === 0)
        throw new CatalogError('unavailable', { message: 'the upload took too long: its file was removed' });
      return blob;
    } catch (error) {
      await this.removeUnlessReferenced(file).catch(() => undefined);
      throw error;
    }
  }

  /** Makes the blob visible. If the hash already has a file, only updates its time; the new file has no blob then. */
  private async publish({ hash, size_bytes }: StoredBlob, file: ObjectId): Promise<void> {
    for (;;) {
      const stored_at_ms = this.now();
      const updated = await this.run(() => this.blobs.updateOne({ _id: hash }, { $set: { stored_at_ms } }));
      if (updated.matchedCount === 1) return;
      try {
        await this.run(() => this.blobs.insertOne({ _id: hash, file, size_bytes, stored_at_ms }));
        return;
      } catch (error) {
        // Another put stored the same bytes in the meantime. Because a delete may have removed them again, this repeats
        // the update.
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }

  async size(hash: BlobHash): Promise<number | undefined> {
    return (await this.find(hash))?.size_bytes;
  }

  async read(hash: BlobHash, range?: ByteRange): Promise<BlobReading | undefined> {
    const found = await this.find(hash);
    if (!found) return undefined;
    const { file, size_bytes } = found;
    return { size_bytes, bytes: this.files.read(file, range ?? { first: 0, last: size_bytes - 1 }) };
  }

  async delete(hash: BlobHash): Promise<void> {
    const found = await this.find(hash);
    if (found) await this.remove(found, {});
  }

  async deleteIfOlder(hash: BlobHash, before_ms: number): Promise<boolean> {
    const found = await this.find(hash);
    if (!found || found.stored_at_ms >= before_ms) return false;
    return this.remove(found, { stored_at_ms: { $lt: before_ms } });
  }

  private async remove(
    { _id, file }: BlobDocument,
    guard: { stored_at_ms?: { $lt: number } },
  ): Promise<boolean> {
    await this.recordUnreferenced(file);
    const { deletedCount } = await this.run(() => this.blobs.deleteOne({ _id, file, ...guard }));
    await this.removeUnlessReferenced(file).catch(() => undefined);
    return deletedCount === 1;
  }

  async *list(): AsyncIterable<StoredBlob & { readonly stored_at_ms: number }> {
    const cursor = this.blobs.find();
    try {
      for (;;) {
        const found = await this.run(() => cursor.next());
        if (!found) return;
        yield { hash: found._id, size_bytes: found.size_bytes, stored_at_ms: found.stored_at_ms };
      }
    } finally {
      await cursor.close().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.connection.close();
  }

  private async find(hash: BlobHash): Promise<BlobDocument | undefined> {
    return (await this.run(() => this.blobs.findOne({ _id: hash }))) ?? undefined;
  }

  /** Records that the file may have no blob. */
  private async recordUnreferenced(file: ObjectId): Promise<void> {
    const update = { $set: { since_ms: this.now(), given_up: false } };
    await this.run(async () => {
      try {
        await this.unreferenced.updateOne({ _id: file }, update, { upsert: true });
      } catch (error) {
        // Another delete of the same blob has recorded it at the same time.
        if (!isDuplicateKey(error)) throw error;
      }
    });
  }

  /** Removes the file unless a blob refers to it. Then deletes its record in `loose`. */
  private async removeUnlessReferenced(file: ObjectId): Promise<void> {
    const blob = await this.run(() => this.blobs.findOne({ file }, { projection: { _id: 1 } }));
    if (!blob) await this.files.remove(file);
    await this.run(() => this.unreferenced.deleteOne({ _id: file }));
  }

  /** Removes the files that dead processes left behind. First marks each file, so that no put publishes it meanwhile. */
  private async removeLeftOvers(): Promise<void> {
    const old = { since_ms: { $lt: this.now() - LEFT_OVER_MS } };
    const left_over = await this.run(() => this.unreferenced.find(old, { projection: { _id: 1 } }).toArray());
    for (const { _id } of left_over) {
      const marked = await this.run(() =>
        this.unreferenced.updateOne({ _id, ...old }, { $set: { given_up: true } }),
      );
      if (marked.matchedCount === 1) await this.removeUnlessReferenced(_id);
    }
  }

  private async removeLeftOversUntilSuccess(): Promise<void> {
    while (!this.closing.signal.aborted) {
      try {
        return await this.removeLeftOvers();
      } catch {
        // The failure is not reported here: each call of the store reports it to its caller.
        await pause(RETRY_MS, this.closing.signal, { ref: false });
      }
    }
  }

  private prepare(): Promise<void> {
    this.prepared ??= this.createIndexes();
    this.prepared.catch(() => {
      this.prepared = undefined;
    });
    return this.prepared;
  }

  private async createIndexes(): Promise<void> {
    await this.files.createIndexes();
    await this.run(() => this.blobs.createIndex({ file: 1 }));
  }

  private run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.connection.run(work);
  }
}

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
 * Reads and writes files of one GridFS bucket in the standard format. It reads and writes chunk by chunk, each in a
 * call with a deadline of its own. The streams of the driver have no deadline and read 16 MB ahead.
 */
class GridFsFiles {
  private readonly connection: MongoConnection;
  private readonly files: Collection<FileDocument>;
  private readonly chunks: Collection<ChunkDocument>;

  constructor(connection: MongoConnection, bucket: string) {
    this.connection = connection;
    this.files = connection.collection(`${bucket}.files`);
    this.chunks = connection.collection(`${bucket}.chunks`);
  }

  async createIndexes(): Promise<void> {
    await this.connection.run(() => this.chunks.createIndex({ files_id: 1, n: 1 }, { unique: true }));
  }

  /** Writes the file. Rethrows errors of `bytes`; the caller must then remove the chunks that were written. */
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
    for await (const piece of bytes) {
      hash.update(piece);
      size_bytes += piece.byteLength;
      for (let offset = 0; offset < piece.byteLength; ) {
        const slice = piece.subarray(offset, offset + CHUNK_BYTES - filled);
        buffer.set(slice, filled);
        filled += slice.byteLength;
        offset += slice.byteLength;
        if (filled === CHUNK_BYTES) await flush();
      }
    }
    if (filled > 0) await flush();
    const blob = { hash: hash.digest('hex'), size_bytes };
    const file = { _id: id, length: size_bytes, chunkSize: CHUNK_BYTES, uploadDate: new Date() };
    await this.connection.run(() => this.files.insertOne({ ...file, filename: blob.hash }));
    return blob;
  }

  /**
   * Reads a range of the file. Keeps nothing open between two chunks. Throws `CatalogError('unavailable')` if the file
   * is removed meanwhile.
   */
  async *read(id: ObjectId, { first, last }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let offset = first; offset <= last; ) {
      const n = Math.floor(offset / CHUNK_BYTES);
      const start = n * CHUNK_BYTES;
      const data = await this.chunk(id, n);
      yield data.subarray(offset - start, last + 1 - start);
      offset = start + CHUNK_BYTES;
    }
  }

  private async chunk(id: ObjectId, n: number): Promise<Uint8Array> {
    const found = await this.connection.run(() =>
      this.chunks.findOne({ files_id: id, n }, { projection: { data: 1 }, promoteBuffers: true }),
    );
    if (!found) throw new CatalogError('unavailable', { message: 'the blob was deleted while it was read' });
    return found.data as Buffer;
  }

  /** Removes the file, even if it is incomplete. Does nothing if it does not exist. */
  async remove(id: ObjectId): Promise<void> {
    await this.connection.run(() => this.files.deleteOne({ _id: id }));
    await this.connection.run(() => this.chunks.deleteMany({ files_id: id }));
  }
}
