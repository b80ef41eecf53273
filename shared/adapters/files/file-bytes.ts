import type { FileHandle } from 'node:fs/promises';
import type { ByteRange } from '../../ports/blob-store';
import { onDisk } from './errors';

const CHUNK_BYTES = 65_536;

/** What an open file holds, a chunk at a time. Closes the file at the end, and where it is returned before, also unread. */
export class FileBytes implements AsyncIterableIterator<Uint8Array> {
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
