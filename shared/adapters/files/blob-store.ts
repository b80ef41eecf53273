import { createHash, randomUUID } from 'node:crypto';
import { renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CatalogError } from '../../kernel/errors';
import { ifExists } from '../../kernel/if-exists';
import {
  type BlobHash,
  type BlobReading,
  type BlobStore,
  type ByteRange,
  isBlobHash,
  type StoredBlob,
} from '../../ports/blob-store';
import type { SqliteConnection } from '../sqlite/connection';
import { type DisposableOptions, openDisposable } from '../sqlite/disposable-file';

/** Readable by the owner only: the metadata of an original may say where the picture was taken. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const INCOMING = 'incoming';
const CHUNK_BYTES = 65_536;
/** If an incoming file was not modified for this long, the process that wrote it has died. */
const LEFT_OVER_MS = 3_600_000;

/** The reports concern the lock file. If the file is damaged and replaced by an empty one, nothing is lost. */
interface FileBlobStoreOptions extends Pick<DisposableOptions, 'onDamage' | 'onRecreated'> {
  /** Created if it does not exist. Several processes may share it. */
  readonly folder: string;
  /** Returns Unix milliseconds, for `stored_at`. */
  readonly now?: () => number;
}

/**
 * Stores each blob as a file `<first two digits>/<hash>`. Its modification time is its `stored_at`. A put writes to
 * `incoming`, syncs the file to disk, and then renames it.
 *
 * `deleteIfOlder` must not delete a blob that another process puts again at the same time, but a file system cannot check
 * the age of a file and delete it in one step. So the rename of a put, and the check and deletion of a sweep, run under
 * one lock: the write lock of a SQLite file. The operating system releases the lock when a process dies.
 */
export class FileBlobStore implements BlobStore {
  private closed = false;

  private constructor(
    private readonly folder: string,
    private readonly lock: SqliteConnection,
    private readonly now: () => number,
  ) {}

  /** Throws `CatalogError('unavailable')` if the folder cannot be used. */
  static async open({ folder, now = Date.now, ...reports }: FileBlobStoreOptions): Promise<FileBlobStore> {
    await runOnDisk(() => mkdir(join(folder, INCOMING), { recursive: true, mode: FOLDER_MODE }));
    const lock = await openDisposable(join(folder, 'lock.sqlite'), {
      synchronous: 'NORMAL',
      schema: () => 'CREATE TABLE only_its_lock_is_used (empty TEXT) STRICT',
      format: 1,
      ...reports,
    });
    const store = new FileBlobStore(folder, lock, now);
    await store.removeLeftOvers();
    return store;
  }

  async put(bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    this.assertOpen();
    const incoming = join(this.folder, INCOMING, randomUUID());
    const file = await runOnDisk(() => open(incoming, 'wx', FILE_MODE));
    try {
      const blob = await receive(bytes, file).finally(() => file.close());
      await this.publish(incoming, blob.hash);
      return blob;
    } catch (error) {
      // If the removal fails, `removeLeftOvers` removes the file later.
      await rm(incoming, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  /** Makes the blob visible by a rename, and durable by a sync of the folder's entries. */
  private async publish(incoming: string, hash: BlobHash): Promise<void> {
    const path = this.pathOf(hash);
    const folder = join(path, '..');
    await runOnDisk(async () => {
      const created = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
      await this.withLock(() => {
        const stored_at = this.now() / 1_000;
        utimesSync(incoming, stored_at, stored_at);
        renameSync(incoming, path);
      });
      await syncPath(folder);
      if (created !== undefined) await syncPath(this.folder);
    });
  }

  async size(hash: BlobHash): Promise<number | undefined> {
    this.assertOpen();
    if (!isBlobHash(hash)) return undefined;
    return (await runIfExists(() => stat(this.pathOf(hash))))?.size;
  }

  async read(hash: BlobHash, range?: ByteRange): Promise<BlobReading | undefined> {
    this.assertOpen();
    if (!isBlobHash(hash)) return undefined;
    // An open file stays readable to its end even if it is deleted or replaced meanwhile.
    const file = await runIfExists(() => open(this.pathOf(hash), 'r'));
    if (!file) return undefined;
    const { size } = await runOnDisk(() => file.stat());
    return { size_bytes: size, bytes: new FileBytes(file, range ?? { first: 0, last: size - 1 }) };
  }

  async delete(hash: BlobHash): Promise<void> {
    this.assertOpen();
    if (isBlobHash(hash)) await runOnDisk(() => rm(this.pathOf(hash), { force: true }));
  }

  async deleteIfOlder(hash: BlobHash, before_ms: number): Promise<boolean> {
    this.assertOpen();
    if (!isBlobHash(hash)) return false;
    const path = this.pathOf(hash);
    return runOnDisk(() =>
      this.withLock(() => {
        const stats = statSync(path, { throwIfNoEntry: false });
        if (stats === undefined || stats.mtimeMs >= before_ms) return false;
        rmSync(path, { force: true });
        return true;
      }),
    );
  }

  async *list(): AsyncIterable<StoredBlob & { readonly stored_at_ms: number }> {
    this.assertOpen();
    for (const folder of await runOnDisk(() => readdir(this.folder))) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      for (const hash of (await runIfExists(() => readdir(join(this.folder, folder)))) ?? []) {
        const stats = isBlobHash(hash) && (await runIfExists(() => stat(this.pathOf(hash))));
        if (stats) yield { hash, size_bytes: stats.size, stored_at_ms: Math.round(stats.mtimeMs) };
      }
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.lock.close();
  }

  private async removeLeftOvers(): Promise<void> {
    const incoming = join(this.folder, INCOMING);
    for (const name of await runOnDisk(() => readdir(incoming))) {
      const path = join(incoming, name);
      const stats = await runIfExists(() => stat(path));
      // Compares with the system clock, because the file system sets the modification times of these files.
      if (stats && stats.mtimeMs < Date.now() - LEFT_OVER_MS)
        await runOnDisk(() => rm(path, { force: true }));
    }
  }

  private withLock<Result>(work: () => Result): Promise<Result> {
    return this.lock.attempt(() => this.lock.transaction(work));
  }

  private pathOf(hash: BlobHash): string {
    return join(this.folder, hash.slice(0, 2), hash);
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the blob store is closed' });
  }
}

/** Writes and hashes the bytes. Resolves when they are on disk. Rethrows what `bytes` throws. */
async function receive(bytes: AsyncIterable<Uint8Array>, file: FileHandle): Promise<StoredBlob> {
  const hash = createHash('sha256');
  let size_bytes = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    size_bytes += chunk.byteLength;
    await runOnDisk(() => file.writeFile(chunk));
  }
  await runOnDisk(() => file.sync());
  return { hash: hash.digest('hex'), size_bytes };
}

/** Syncs a file, or the entries of a folder, to disk. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  await file.sync().finally(() => file.close());
}

/**
 * Reads an open file chunk by chunk. Closes it at its end, and also when the iteration stops earlier or never starts.
 */
class FileBytes implements AsyncIterableIterator<Uint8Array> {
  private readonly end: number;
  private next_offset: number;
  private closed: Promise<void> | undefined;

  constructor(
    private readonly file: FileHandle,
    { first, last }: ByteRange,
  ) {
    this.next_offset = first;
    this.end = last + 1;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.closed || this.next_offset >= this.end) return this.return();
    try {
      const length = Math.min(CHUNK_BYTES, this.end - this.next_offset);
      const buffer = Buffer.allocUnsafe(length);
      const { bytesRead } = await runOnDisk(() => this.file.read(buffer, 0, length, this.next_offset));
      if (bytesRead === 0) throw new Error('the blob file is shorter than its size');
      this.next_offset += bytesRead;
      return { done: false, value: buffer.subarray(0, bytesRead) };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.closed ??= this.file.close();
    await this.closed;
    return { done: true, value: undefined };
  }
}

/** Runs `work`. Throws `CatalogError('unavailable')` if the disk fails. */
async function runOnDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw isSystemError(error) ? new CatalogError('unavailable', { cause: error }) : error;
  }
}

/** Like `runOnDisk`, but returns undefined if the file does not exist. */
function runIfExists<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  return runOnDisk(() => ifExists(work()));
}

/** Returns whether the system has refused a call: a failure of the disk, the file system or the limit of open files. */
const isSystemError = (error: unknown): boolean =>
  typeof (error as NodeJS.ErrnoException)?.errno === 'number';
