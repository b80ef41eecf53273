import { access, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Keys are in it: nobody but the owner reads it. */
const MODE = 0o600;

const demoSchema = z.object({
  store_id: z.string(),
  public_key: z.string(),
  secret_key: z.string(),
  test_store_id: z.string(),
  test_public_key: z.string(),
  test_secret_key: z.string(),
});

/** `DATA_DIR/demo.json`: how to reach the demo. */
export type Demo = z.infer<typeof demoSchema>;

const pendingSchema = demoSchema.partial().extend({
  account_id: z.string(),
  store_id: z.string(),
  test_store_id: z.string(),
});

/** `DATA_DIR/demo.pending.json`: a demo that is being made; the same ids again complete it. */
export type PendingDemo = z.infer<typeof pendingSchema>;

export class DemoFiles {
  private readonly demo: string;
  private readonly pending: string;
  private readonly pictures_pending: string;

  constructor(private readonly folder: string) {
    this.demo = join(folder, 'demo.json');
    this.pending = join(folder, 'demo.pending.json');
    this.pictures_pending = join(folder, 'demo.unpainted');
  }

  readDemo(): Promise<Demo | undefined> {
    return readJson(this.demo, demoSchema);
  }

  readPending(): Promise<PendingDemo | undefined> {
    return readJson(this.pending, pendingSchema);
  }

  async writePending(pending: PendingDemo): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    await writeWhole(this.pending, pending);
  }

  /** The demo is there from the moment its file is; its pictures are still to be uploaded. */
  async finish(demo: Demo): Promise<void> {
    await writeWhole(this.pictures_pending, {});
    await writeWhole(this.demo, demo);
    await rm(this.pending, { force: true });
  }

  /** Whether the demo's pictures are still to be uploaded, as after a start that was interrupted. */
  async lacksPictures(): Promise<boolean> {
    return access(this.pictures_pending).then(
      () => true,
      () => false,
    );
  }

  /** Records that every picture is uploaded. */
  async hasPictures(): Promise<void> {
    await rm(this.pictures_pending, { force: true });
  }
}

/** Undefined where there is no such file; one that holds something else is an error, never overwritten. */
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
    throw new Error(`${path} is not what it should be; remove it`);
  }
}

/** All of it or nothing, also across a power cut: a new file, synced, takes the old one's name. */
async function writeWhole(path: string, content: object): Promise<void> {
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
