import { type FileHandle, mkdir, open, readFile, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** An append-only file of lines. A line that was half written when the process died is removed at the next start. */
export class LogFile {
  private readonly handle: FileHandle;
  private readonly queue: Waiting[] = [];
  private flushing: Promise<void> | undefined;

  private constructor(handle: FileHandle) {
    this.handle = handle;
  }

  static async open(path: string): Promise<{ file: LogFile; lines: string[] }> {
    await mkdir(dirname(path), { recursive: true });
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    const whole = bytes.lastIndexOf(0x0a) + 1;
    if (whole < bytes.length) await truncate(path, whole);
    const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1);
    return { file: new LogFile(await open(path, 'a')), lines };
  }

  /** Resolves in the order of the calls, once the line is on disk. Appends that wait together share one sync. */
  append(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.queue.push({ line, resolve, reject });
      this.flushing ??= this.flush();
    });
  }

  async close(): Promise<void> {
    await this.flushing;
    await this.handle.close();
  }

  private async flush(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.queue.splice(0);
      try {
        await this.handle.appendFile(batch.map(({ line }) => line).join(''));
        await this.handle.datasync();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.flushing = undefined;
  }
}
