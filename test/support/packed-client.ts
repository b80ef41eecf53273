import { resolve } from 'node:path';
import { type PackedPackage, packFolder, unpackPackage } from './packed';

let packed: Promise<PackedPackage> | undefined;

/** Packs `catalog-client`, once for all tests of a file. */
export function packClient(): Promise<PackedPackage> {
  packed ??= packFolder(resolve(process.cwd(), 'shared/client'));
  return packed;
}

/** Installs the client into a folder. */
export async function installClient(folder: string): Promise<void> {
  unpackPackage(await packClient(), folder, 'catalog-client');
}
