import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { GridFsBlobStore } from '../../shared/adapters/mongodb/gridfs-blob-store';
import type { BlobStore } from '../../shared/ports/blob-store';

/* A process that puts bytes into the folder, or the MongoDB, that it is given, says so when they lie there, and never comes to their end. */

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
