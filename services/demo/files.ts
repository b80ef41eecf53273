import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, replaceJsonFile } from '../../shared/kernel/json-file';

const demoSchema = z.object({
  store_id: z.string(),
  public_key: z.string(),
  secret_key: z.string(),
  test_store_id: z.string(),
  test_public_key: z.string(),
  test_secret_key: z.string(),
});

/** The content of `DATA_DIR/demo.json`: the stores and keys of the demo. */
export type Demo = z.infer<typeof demoSchema>;

const pendingSchema = z.object({ account_id: z.string(), store_id: z.string(), test_store_id: z.string() });

/**
 * The content of `DATA_DIR/demo.pending.json`: a demo that is being created, or whose pictures are not uploaded yet. A
 * restart completes it with these ids.
 */
export type PendingDemo = z.infer<typeof pendingSchema>;

export class DemoFiles {
  private readonly demo: string;
  private readonly pending: string;

  constructor(private readonly folder: string) {
    this.demo = join(folder, 'demo.json');
    this.pending = join(folder, 'demo.pending.json');
  }

  readDemo(): Promise<Demo | undefined> {
    return readJsonFile(this.demo, demoSchema, 'a demo');
  }

  readPending(): Promise<PendingDemo | undefined> {
    return readJsonFile(this.pending, pendingSchema, 'a demo');
  }

  async writePending(pending: PendingDemo): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    await replaceJsonFile(this.pending, pending);
  }

  /** Writes `demo.json`, which marks the demo as created. Its pictures are not uploaded yet. */
  async finish(demo: Demo): Promise<void> {
    await replaceJsonFile(this.demo, demo);
  }

  /** Records that every picture is uploaded, which is the last step. */
  async markPicturesUploaded(): Promise<void> {
    await rm(this.pending, { force: true });
  }
}
