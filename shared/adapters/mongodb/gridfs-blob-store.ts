import { setTimeout as sleep } from 'node:timers/promises';
import { type Collection, ObjectId } from 'mongodb';
import type { Environment } from '../../catalog/realm';
import { CatalogError } from '../../kernel/errors';
import type {
  BlobArea,
  BlobHash,
  BlobReading,
  BlobStore,
  ByteRange,
  StoredBlob,
} from '../../ports/blob-store';
import { MongoConnection } from './connection';
import { isDuplicateKey } from './errors';
import { GridFsFiles } from './gridfs-files';

/** A file that was begun, or taken off its blob, so long ago was left by a process that died. */
const LEFT_OVER_MS = 3_600_000;
const RETRY_MS = 500;

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
        await sleep(RETRY_MS, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
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
