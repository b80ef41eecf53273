import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VIEW_SCHEMA } from '../../projections/engine/versions';
import { type Catalog, readCatalog, writeCatalog } from './catalog/write-log';
import { runCommand } from './command';
import { folderName } from './options';

/** The realm of the catalog's stores. */
const LIVE = 'live';
/** Says which documents the folder has. */
const DOCUMENTS_FILE = 'documents.json';

/** The kept data of one size: the logs of a catalog, and documents made from them. */
export interface DataFolder {
  readonly path: string;
  readonly catalog: Catalog;
}

/** Opens the data of a size. Makes what is missing: the catalog, and documents of this release. */
export async function openData(base: string, size: number): Promise<DataFolder> {
  const path = join(base, folderName(size));
  let catalog = readCatalog(path, size);
  if (!catalog) {
    console.error(`making a catalog of ${size} publications in ${path}`);
    rmSync(path, { recursive: true, force: true });
    catalog = await writeCatalog(path, size);
  }
  if (schemaOfDocuments(path) !== VIEW_SCHEMA) {
    console.error('making its documents');
    await rebuildDocuments(path);
  }
  return { path, catalog };
}

/** Makes the documents of the live realm again and drops the others. Returns what the rebuild has used. */
export async function rebuildDocuments(path: string) {
  const environment = { DATA_DIR: path };
  const used = await runCommand(
    ['projections', 'rebuild', '--realm', LIVE, '--no-verify', '--json'],
    environment,
  );
  await runCommand(['projections', 'drop', '--realm', LIVE, '--json'], environment);
  writeFileSync(join(path, DOCUMENTS_FILE), JSON.stringify({ schema: VIEW_SCHEMA }));
  return used;
}

function schemaOfDocuments(path: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(join(path, DOCUMENTS_FILE), 'utf8')) as { schema: number }).schema;
  } catch {
    return undefined;
  }
}

/** Returns the size of the live realm's files whose names match, in bytes. */
export function bytesOf(path: string, names: RegExp): number {
  const folder = join(path, LIVE);
  const files = readdirSync(folder).filter((name) => names.test(name));
  return files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
