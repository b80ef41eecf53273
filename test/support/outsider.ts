import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir } from './temp-dir';
import { WAIT_MS_MAX } from './wait-for';

const run = promisify(execFile);
const root = resolve(process.cwd());
const LIMIT = { timeout: 2 * WAIT_MS_MAX };

/**
 * The compiler settings of a strict project that uses this package. With `skipLibCheck: false` it also checks the
 * declarations of the package.
 */
const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'es2023', module: 'nodenext', lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
    ...{ strict: true, noUncheckedIndexedAccess: true, skipLibCheck: false, outDir: 'out', rootDir: '.' },
  },
  include: ['*.ts'],
};

/**
 * Compiles the files as another project that has installed this package, and runs its `main.ts` with the arguments.
 * Returns what it printed, parsed. Rejects with the output of the compiler or the program if either fails.
 */
export async function runOutside(files: Readonly<Record<string, string>>, args: readonly string[]) {
  const folder = makeTempDir();
  try {
    await mkdir(join(folder.path, 'node_modules'));
    symlinkSync(root, join(folder.path, 'node_modules/catalog-service'), 'dir');
    const all = { 'package.json': '{"type":"module"}', 'tsconfig.json': JSON.stringify(TSCONFIG), ...files };
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder.path, name), text);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await outputOf(run(process.execPath, [tsc, '-p', folder.path], LIMIT));
    const printed = await outputOf(run(process.execPath, [join(folder.path, 'out/main.js'), ...args], LIMIT));
    return JSON.parse(printed) as unknown;
  } finally {
    folder.remove();
  }
}

/** Returns what a program printed. Rejects with what it printed if it failed. */
async function outputOf(running: Promise<{ stdout: string }>): Promise<string> {
  try {
    return (await running).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${stdout}\n${stderr}`, { cause: error });
  }
}
