import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withTempDir } from './temp-dir';
import { WAIT_MS_MAX } from './wait-for';

/** The package `catalog-client` as `npm pack` makes it of the compiled client. */
export interface PackedClient {
  readonly archive: Buffer;
  /** Paths in the package. */
  readonly files: readonly string[];
}

const CLIENT = resolve(process.cwd(), 'shared/client');
let packed: Promise<PackedClient> | undefined;

/** Packs the client. Without scripts, because the tests run on what the build has compiled. */
export function packClient(): Promise<PackedClient> {
  packed ??= withTempDir(async (folder) => {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: CLIENT, timeout: WAIT_MS_MAX });
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    return { archive: readFileSync(join(folder, filename)), files: files.map(({ path }) => path) };
  });
  return packed;
}

/** Unpacks the client into `node_modules` of a folder, as an installation does. Needs no registry. */
export async function installClient(folder: string): Promise<void> {
  const target = join(folder, 'node_modules/catalog-client');
  mkdirSync(target, { recursive: true });
  const { archive } = await packClient();
  execFileSync('tar', ['-xz', '--strip-components=1', '-C', target], { input: archive });
}
