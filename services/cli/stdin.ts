import { createInterface } from 'node:readline';

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
