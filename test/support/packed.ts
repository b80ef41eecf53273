import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withTempDir } from './temp-dir';
import { WAIT_MS_MAX } from './wait-for';

/** The output of `npm pack`. */
export interface PackedPackage {
  readonly archive: Buffer;
  /** Paths in the package. */
  readonly files: readonly string[];
}

/** Packs the folder of a package. Without scripts, because the tests run on what the build has compiled. */
export function packFolder(cwd: string): Promise<PackedPackage> {
  return withTempDir(async (folder) => {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await promisify(execFile)('npm', args, { cwd, timeout: WAIT_MS_MAX });
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    return { archive: readFileSync(join(folder, filename)), files: files.map(({ path }) => path) };
  });
}

/** Unpacks a package into `node_modules` of a folder, as an installation does. Needs no registry. Returns its folder. */
export function unpackPackage({ archive }: PackedPackage, folder: string, name: string): string {
  const target = join(folder, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xz', '--strip-components=1', '-C', target], { input: archive });
  return target;
}
