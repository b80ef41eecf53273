import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { GridFsBlobStore } from '../../shared/adapters/mongodb/gridfs-blob-store';
import type { BlobStore } from '../../shared/ports/blob-store';

/*
 * Puts bytes into the blob store in a folder or in a MongoDB, prints `putting` after the first chunk, and never
 * finishes.
 */

const open = async (where: string): Promise<BlobStore> =>
  where.startsWith('mongodb:')
    ? new GridFsBlobStore({ url: where, environment: 'live', area: 'originals' })
    : FileBlobStore.open({ folder: where });

async function* endless(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(1_000_000, 1);
  process.stdout.write('putting\n');
  setInterval(() => {}, 60_000);
  await new Promise(() => {});
}

async function main(): Promise<void> {
  const store = await open(process.argv[2]!);
  await store.put(endless());
}

void main();
