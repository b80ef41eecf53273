import { createHash, randomUUID } from 'node:crypto';
import { renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CatalogError } from '../../kernel/errors';
import {
  type BlobHash,
  type BlobReading,
  type BlobStore,
  type ByteRange,
  isBlobHash,
  type StoredBlob,
} from '../../ports/blob-store';
import { SqliteConnection } from '../sqlite/connection';

/** For the owner alone: an original tells where its picture was taken. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const INCOMING = 'incoming';
const CHUNK_BYTES = 65_536;
/** What nothing was written to for so long was left by a process that died. */
const LEFT_OVER_MS = 3_600_000;

/** A disk, its file system or the process' share of files that fails; ENOENT where a folder was taken away. */
const AWAY = new Set([
  'EACCES',
  'EBUSY',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

export interface FileBlobStoreOptions {
  /** Made where it is not there. Any number of processes may share it. */
  readonly folder: string;
  /** Unix milliseconds; for `stored_at`. */
  readonly now?: () => number;
}

/**
 * Each blob is a file `<first two digits>/<hash>`, whose time is its `stored_at`. What is being put lies in `incoming`
 * until it is whole and on disk. No file system removes a file only if it is old, so a put's last step and a sweep's
 * look and removal pass one lock, that of a SQLite file, which the system lets go where a process dies.
 */
export class FileBlobStore implements BlobStore {
  private readonly folder: string;
  private readonly lock: SqliteConnection;
  private readonly now: () => number;
  private closed = false;

  private constructor(folder: string, lock: SqliteConnection, now: () => number) {
    this.folder = folder;
    this.lock = lock;
    this.now = now;
  }

  /** Throws `CatalogError('unavailable')` where the folder cannot be used. */
  static async open({ folder, now = Date.now }: FileBlobStoreOptions): Promise<FileBlobStore> {
    await onDisk(() => mkdir(join(folder, INCOMING), { recursive: true, mode: FOLDER_MODE }));
    const lock = await SqliteConnection.open(join(folder, 'lock.sqlite'), {
      synchronous: 'NORMAL',
      schema: 'CREATE TABLE only_its_lock_is_used (empty TEXT) STRICT',
      format: 1,
    });
    const store = new FileBlobStore(folder, lock, now);
    await store.removeLeftOvers();
    return store;
  }

  async put(bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
    this.assertOpen();
    const incoming = join(this.folder, INCOMING, randomUUID());
    const file = await onDisk(() => open(incoming, 'wx', FILE_MODE));
    try {
      const blob = await receive(bytes, file).finally(() => file.close());
      await this.moveIn(incoming, blob.hash);
      return blob;
    } catch (error) {
      // What cannot be removed now is left over, and removed later.
      await rm(incoming, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  /** Visible from the rename on, and durable when the folder's entry is. */
  private async moveIn(incoming: string, hash: BlobHash): Promise<void> {
    const path = this.pathOf(hash);
    const folder = join(path, '..');
    await onDisk(async () => {
      const made = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
      await this.locked(() => {
        const stored_at = this.now() / 1_000;
        utimesSync(incoming, stored_at, stored_at);
        renameSync(incoming, path);
      });
      await syncFolder(folder);
      if (made !== undefined) await syncFolder(this.folder);
    });
  }

  async size(hash: BlobHash): Promise<number | undefined> {
    this.assertOpen();
    if (!isBlobHash(hash)) return undefined;
    return (await onDiskIfThere(() => stat(this.pathOf(hash))))?.size;
  }

  async read(hash: BlobHash, range?: ByteRange): Promise<BlobReading | undefined> {
    this.assertOpen();
    if (!isBlobHash(hash)) return undefined;
    // An open file stays whole, whoever deletes or replaces it meanwhile.
    const file = await onDiskIfThere(() => open(this.pathOf(hash), 'r'));
    if (!file) return undefined;
    const { size } = await onDisk(() => file.stat());
    return { size_bytes: size, bytes: new FileBytes(file, range ?? { first: 0, last: size - 1 }) };
  }

  async delete(hash: BlobHash): Promise<void> {
    this.assertOpen();
    if (isBlobHash(hash)) await onDisk(() => rm(this.pathOf(hash), { force: true }));
  }

  async deleteIfOlder(hash: BlobHash, before_ms: number): Promise<boolean> {
    this.assertOpen();
    if (!isBlobHash(hash)) return false;
    const path = this.pathOf(hash);
    return onDisk(() =>
      this.locked(() => {
        const found = statSync(path, { throwIfNoEntry: false });
        if (found === undefined || found.mtimeMs >= before_ms) return false;
        rmSync(path, { force: true });
        return true;
      }),
    );
  }

  async *list(): AsyncIterable<StoredBlob & { readonly stored_at_ms: number }> {
    this.assertOpen();
    for (const folder of await onDisk(() => readdir(this.folder))) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      for (const hash of (await onDiskIfThere(() => readdir(join(this.folder, folder)))) ?? []) {
        const found = isBlobHash(hash) && (await onDiskIfThere(() => stat(this.pathOf(hash))));
        if (found) yield { hash, size_bytes: found.size, stored_at_ms: Math.round(found.mtimeMs) };
      }
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.lock.close();
  }

  private async removeLeftOvers(): Promise<void> {
    const incoming = join(this.folder, INCOMING);
    for (const name of await onDisk(() => readdir(incoming))) {
      const path = join(incoming, name);
      const found = await onDiskIfThere(() => stat(path));
      // By the real clock, which is the one that stamps what is written.
      if (found && found.mtimeMs < Date.now() - LEFT_OVER_MS) await onDisk(() => rm(path, { force: true }));
    }
  }

  private locked<Result>(work: () => Result): Promise<Result> {
    return this.lock.attempt(() => this.lock.transaction(work));
  }

  private pathOf(hash: BlobHash): string {
    return join(this.folder, hash.slice(0, 2), hash);
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the blob store is closed' });
  }
}

/** Writes and hashes at once; resolves when the bytes are on disk. What `bytes` throws is thrown on as it is. */
async function receive(bytes: AsyncIterable<Uint8Array>, file: FileHandle): Promise<StoredBlob> {
  const hash = createHash('sha256');
  let size_bytes = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    size_bytes += chunk.byteLength;
    await onDisk(() => file.writeFile(chunk));
  }
  await onDisk(() => file.sync());
  return { hash: hash.digest('hex'), size_bytes };
}

/** Puts the names in a folder on disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** What an open file holds, a chunk at a time. Closes the file at the end, and where it is returned before, also unread. */
class FileBytes implements AsyncIterableIterator<Uint8Array> {
  private readonly file: FileHandle;
  private readonly end: number;
  private next_at: number;
  private closed: Promise<void> | undefined;

  constructor(file: FileHandle, { first, last }: ByteRange) {
    this.file = file;
    this.next_at = first;
    this.end = last + 1;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.closed || this.next_at >= this.end) return this.return();
    try {
      const wanted = Math.min(CHUNK_BYTES, this.end - this.next_at);
      const buffer = Buffer.allocUnsafe(wanted);
      const { bytesRead } = await onDisk(() => this.file.read(buffer, 0, wanted, this.next_at));
      if (bytesRead === 0) throw new Error('a blob is shorter than its size');
      this.next_at += bytesRead;
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

/** Runs `work`; throws `CatalogError('unavailable')` where the disk fails. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw AWAY.has(codeOf(error)) ? new CatalogError('unavailable', { cause: error }) : error;
  }
}

/** The same, and undefined where there is no such file. */
function onDiskIfThere<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  return onDisk(async () => {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code);
}
