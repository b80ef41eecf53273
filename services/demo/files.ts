import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Only the owner may read the files, because they contain API keys. */
const MODE = 0o600;

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
    return readJson(this.demo, demoSchema);
  }

  readPending(): Promise<PendingDemo | undefined> {
    return readJson(this.pending, pendingSchema);
  }

  async writePending(pending: PendingDemo): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    await replaceFile(this.pending, pending);
  }

  /** Writes `demo.json`, which marks the demo as created. Its pictures are not uploaded yet. */
  async finish(demo: Demo): Promise<void> {
    await replaceFile(this.demo, demo);
  }

  /** Records that every picture is uploaded, which is the last step. */
  async markPicturesUploaded(): Promise<void> {
    await rm(this.pending, { force: true });
  }
}

/** Returns undefined if the file does not exist. Throws if its content is invalid, so that it is never overwritten. */
async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Error(`invalid file ${path}: expected the JSON of a demo. Remove the file and restart.`);
  }
}

/** Replaces a file atomically, also in case of a power failure: writes and syncs a new file, then renames it. */
async function replaceFile(path: string, content: object): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  const file = await open(draft, 'w', MODE);
  try {
    await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
