import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { installClient } from './packed-client';
import { withTempDir } from './temp-dir';
import { WAIT_MS_MAX } from './wait-for';

const run = promisify(execFile);
const root = resolve(process.cwd());
const LIMIT = { timeout: 2 * WAIT_MS_MAX };

export type Files = Readonly<Record<string, string>>;

/** A compiler that users of the client may have: the folder of its package in `node_modules`. */
export const COMPILERS = {
  '5.6': dirname(require.resolve('typescript-5.6/package.json')),
  '5.9': dirname(require.resolve('typescript-5.9/package.json')),
  '7': dirname(require.resolve('typescript/package.json')),
} as const;

/**
 * The compiler settings of a strict project that uses the client. With `skipLibCheck: false` it also checks the
 * declarations of the client.
 */
const COMPILER_OPTIONS = {
  ...{ target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom', 'dom.iterable'], types: [] },
  ...{ strict: true, noUncheckedIndexedAccess: true, skipLibCheck: false, outDir: 'out', rootDir: '.' },
};

/**
 * Compiles the files as another project that has installed `catalog-service` and `catalog-client`, with the options in
 * addition to those of a strict project. Rejects with the output of the compiler if it reports an error.
 */
export async function compileOutside(
  files: Files,
  compiler: keyof typeof COMPILERS = '7',
  options: object = {},
): Promise<void> {
  await withTempDir((folder) => compile(folder, files, compiler, options));
}

/**
 * Compiles the files as `compileOutside` does, and runs their `main.ts` with the arguments. Returns what it printed,
 * parsed. Rejects with the output of the compiler or the program if either fails.
 */
export function runOutside(files: Files, args: readonly string[], options: object = {}): Promise<unknown> {
  return withTempDir(async (folder) => {
    await compile(folder, files, '7', options);
    return JSON.parse(await outputOf([join(folder, 'out/main.js'), ...args]));
  });
}

async function compile(
  folder: string,
  files: Files,
  compiler: keyof typeof COMPILERS,
  options: object,
): Promise<void> {
  await installClient(folder);
  symlinkSync(root, join(folder, 'node_modules/catalog-service'), 'dir');
  const tsconfig = { compilerOptions: { ...COMPILER_OPTIONS, ...options }, include: ['*.ts', '*.cts'] };
  const all = { 'package.json': '{"type":"module"}', 'tsconfig.json': JSON.stringify(tsconfig), ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
  await outputOf([join(COMPILERS[compiler], 'bin/tsc'), '-p', folder]);
}

/** Returns what a program of Node.js printed. Rejects with what it printed if it failed. */
async function outputOf(args: readonly string[]): Promise<string> {
  try {
    return (await run(process.execPath, args, LIMIT)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${stdout}\n${stderr}`, { cause: error });
  }
}
