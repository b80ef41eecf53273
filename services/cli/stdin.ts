import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';

/**
 * Reads the first line of standard input that is not empty, without the space around it. Returns undefined if there is
 * none. On a terminal, prints `prompt` on standard error first.
 */
export async function readLine(prompt: string): Promise<string | undefined> {
  if (process.stdin.isTTY) process.stderr.write(prompt);
  const lines = createInterface({ input: process.stdin });
  try {
    for await (const line of lines) if (line.trim() !== '') return line.trim();
    return undefined;
  } finally {
    lines.close();
    // The command would otherwise wait until the writer at the other end of a pipe ends.
    process.stdin.destroy();
  }
}

/**
 * Calls `use` with the path of the file to read. Standard input (`-`) and pipes are copied to a temporary file first,
 * because an import reads its file twice. TMPDIR chooses the folder.
 */
export async function withInputFile<Result>(
  argument: string,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const is_standard_input = argument === '-';
  const is_pipe = statSync(argument, { throwIfNoEntry: false })?.isFIFO() === true;
  if (!is_standard_input && !is_pipe) return use(argument);
  const folder = await mkdtemp(join(tmpdir(), 'catalog-import-'));
  try {
    const path = join(folder, 'input');
    const input = is_standard_input ? process.stdin : createReadStream(argument);
    await pipeline(input, createWriteStream(path, { mode: 0o600 }));
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
