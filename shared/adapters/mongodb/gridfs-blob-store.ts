import { createHash } from 'node:crypto';
import { type Binary, type Collection, ObjectId } from 'mongodb';
import type { Environment } from '../../catalog/realm';
import { pause } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import type {
  BlobArea,
  BlobHash,
  BlobReading,
  BlobStore,
  ByteRange,
  StoredBlob,
} from '../../ports/blob-store';
import { isDuplicateKey, MongoConnection } from './connection';

/** A file that was begun, or taken off its blob, so long ago was left by a process that died. */
const LEFT_OVER_MS = 3_600_000;
const RETRY_MS = 500;
/** 255 KB, as every driver cuts. */
const CHUNK_BYTES = 261_120;

export interface GridFsBlobStoreOptions {
  /** As a view store's; the blobs are in the environment's database beside its documents. */
  readonly url: string;
  readonly environment: Environment;
  readonly area: BlobArea;
  /** Unix milliseconds; for `stored_at`. */
  readonly now?: () => number;
  /** Of an answer, 4.5 s by default. */
  readonly deadline_ms?: number;
}

/** What is visible: the hash names the one file that holds its bytes. */
interface BlobDocument {
  readonly _id: BlobHash;
  readonly file: ObjectId;
  readonly size_bytes: number;
  readonly stored_at_ms: number;
}

/** A file that perhaps no blob names; noted before there is anything to remove. */
interface LooseDocument {
  readonly _id: ObjectId;
  readonly since_ms: number;
  /** To be removed: whoever writes it still is not to finish. */
  readonly given_up: boolean;
}

/**
 * Blobs of one area on GridFS: `<area>.files` and `<area>.chunks` hold bytes under ids of their own, `<area>.blobs`
 * says which hash is which file. The hash is known last, so a put writes a file and then the one document that makes
 * it visible; a delete removes that document, then the file. `<area>.loose` lists the files in between, so that what a
 * crash leaves is found without a search. Needs no server to be there when it is made.
 */
export class GridFsBlobStore implements BlobStore {
  private readonly connection: MongoConnection;
  private readonly files: GridFsFiles;
  private readonly blobs: Collection<BlobDocument>;
  private readonly loose: Collection<LooseDocument>;
  private readonly now: () => number;
  private readonly closing = new AbortController();
  private prepared: Promise<void> | undefined;
  /** Resolves when what processes that died had left is removed; never rejects. */
  readonly tidied: Promise<void>;

  constructor({ environment, area, now = Date.now, ...options }: GridFsBlobStoreOptions) {
    this.connection = new MongoConnection({ ...options, realm: environment });
    this.files = new GridFsFiles(this.connection, area);
    this.blobs = this.connection.collection(`${area}.blobs`);
    this.loose = this.connection.collection(`${area}.loose`);
    this.now = now;
    this.tidied = this.tidyUntilDone();
  }

  async put(bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    await this.prepare();
    const file = new ObjectId();
    await this.noteLoose(file);
    const blob = await this.receive(file, bytes);
    // From here on the file may be named, also where an answer is lost: it is for `tidy` to find out.
    await this.nameFile(blob, file);
    await this.settle(file).catch(() => undefined);
    return blob;
  }

  private async receive(file: ObjectId, bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    try {
      const blob = await this.files.write(file, bytes);
      const kept = await this.run(() =>
        this.loose.updateOne({ _id: file, given_up: false }, { $set: { since_ms: this.now() } }),
      );
      if (kept.matchedCount === 0)
        throw new CatalogError('unavailable', { message: 'the bytes came too slowly' });
      return blob;
    } catch (error) {
      await this.settle(file).catch(() => undefined);
      throw error;
    }
  }

  /** Where the hash has a file already, that one's time moves on and the new one stays loose. */
  private async nameFile({ hash, size_bytes }: StoredBlob, file: ObjectId): Promise<void> {
    for (;;) {
      const stored_at_ms = this.now();
      const known = await this.run(() => this.blobs.updateOne({ _id: hash }, { $set: { stored_at_ms } }));
      if (known.matchedCount === 1) return;
      try {
        await this.run(() => this.blobs.insertOne({ _id: hash, file, size_bytes, stored_at_ms }));
        return;
      } catch (error) {
        // Another put the same bytes meanwhile, and may have deleted them again since.
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
    await this.noteLoose(file);
    const { deletedCount } = await this.run(() => this.blobs.deleteOne({ _id, file, ...guard }));
    await this.settle(file).catch(() => undefined);
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

  private async noteLoose(file: ObjectId): Promise<void> {
    const note = { $set: { since_ms: this.now(), given_up: false } };
    await this.run(async () => {
      try {
        await this.loose.updateOne({ _id: file }, note, { upsert: true });
      } catch (error) {
        // Two that delete the same blob at once: the other noted it.
        if (!isDuplicateKey(error)) throw error;
      }
    });
  }

  /** Removes the file unless a blob names it; in either case it is loose no more. */
  private async settle(file: ObjectId): Promise<void> {
    const named = await this.run(() => this.blobs.findOne({ file }, { projection: { _id: 1 } }));
    if (!named) await this.files.remove(file);
    await this.run(() => this.loose.deleteOne({ _id: file }));
  }

  /** Settles what was left over. Only what is given up first, so that nobody gives it a name while it is removed. */
  private async tidy(): Promise<void> {
    const old = { since_ms: { $lt: this.now() - LEFT_OVER_MS } };
    const left = await this.run(() => this.loose.find(old, { projection: { _id: 1 } }).toArray());
    for (const { _id } of left) {
      const mine = await this.run(() => this.loose.updateOne({ _id, ...old }, { $set: { given_up: true } }));
      if (mine.matchedCount === 1) await this.settle(_id);
    }
  }

  private async tidyUntilDone(): Promise<void> {
    while (!this.closing.signal.aborted) {
      try {
        return await this.tidy();
      } catch {
        // Every caller is told of the same failure by its own call.
        await pause(RETRY_MS, this.closing.signal, { ref: false });
      }
    }
  }

  private prepare(): Promise<void> {
    this.prepared ??= this.makeIndexes();
    this.prepared.catch(() => {
      this.prepared = undefined;
    });
    return this.prepared;
  }

  private async makeIndexes(): Promise<void> {
    await this.files.makeIndexes();
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
 * Files of one GridFS bucket, in the format that every driver and tool reads. Written and read here a chunk at a time,
 * each in a call with a deadline of its own; the driver's streams know no deadline and read 16 MB ahead.
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
