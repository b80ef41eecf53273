import { FileBlobStore } from '../../shared/adapters/files/blob-store';

/* A process that puts bytes into the folder it is given, says so when they lie there, and never comes to their end. */

async function* endless(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(100_000, 1);
  process.stdout.write('putting\n');
  setInterval(() => {}, 60_000);
  await new Promise(() => {});
}

async function main(): Promise<void> {
  const store = await FileBlobStore.open({ folder: process.argv[2]! });
  await store.put(endless());
}

void main();
