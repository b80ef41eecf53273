import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir } from './temp-dir';

const run = promisify(execFile);
const root = resolve(process.cwd());

/** What strict projects have, and nothing of ours: the declarations of what they import are checked as well. */
const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'es2023', module: 'nodenext', lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
    ...{ strict: true, noUncheckedIndexedAccess: true, skipLibCheck: false, outDir: 'out', rootDir: '.' },
  },
  include: ['*.ts'],
};

/**
 * Compiles the files as a project of somebody else's, to which this package was added, and runs `main.ts` with the
 * arguments. Gives what it printed, parsed; throws with the compiler's or the program's words where either fails.
 */
export async function runOutside(files: Readonly<Record<string, string>>, args: readonly string[]) {
  const folder = makeTempDir();
  try {
    await mkdir(join(folder.path, 'node_modules'));
    symlinkSync(root, join(folder.path, 'node_modules/catalog-service'), 'dir');
    const all = { 'package.json': '{"type":"module"}', 'tsconfig.json': JSON.stringify(TSCONFIG), ...files };
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder.path, name), text);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await told(run(process.execPath, [tsc, '-p', folder.path]));
    const printed = await told(run(process.execPath, [join(folder.path, 'out/main.js'), ...args]));
    return JSON.parse(printed) as unknown;
  } finally {
    folder.remove();
  }
}

/** What it printed; where it failed, that is why. */
async function told(running: Promise<{ stdout: string }>): Promise<string> {
  try {
    return (await running).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${stdout}\n${stderr}`, { cause: error });
  }
}
