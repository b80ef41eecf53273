import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve } from 'node:path';

/*
 * Makes stack traces show positions in the TypeScript sources. Every program imports this file first. The option
 * `--enable-source-maps` of Node does the same, but reads the source map of every module when it loads the module, which
 * takes a quarter of a start. Here a map is read when a stack trace needs it.
 */

const maps = new Map<string, SourceMap | undefined>();

Error.prepareStackTrace = (error, frames) =>
  [headOf(error), ...frames.map((frame) => `    at ${withSource(frame)}`)].join('\n');

function headOf(error: unknown): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return '<error>';
  }
}

/** Returns the text of a frame. Replaces a position in compiled code by the one in its source. */
function withSource(frame: NodeJS.CallSite): string {
  const text = String(frame);
  const file = frame.getFileName();
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const map = file && line && column ? mapOf(file) : undefined;
  if (!map) return text;
  const found = map.findEntry(line! - 1, column! - 1);
  if (!('originalSource' in found)) return text;
  const source = resolve(dirname(file!), found.originalSource);
  return text.replace(
    `${file}:${line}:${column}`,
    () => `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`,
  );
}

/** Returns undefined for a file without a map, and for packages. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, file.includes('node_modules') ? undefined : readMap(`${file}.map`));
  return maps.get(file);
}

function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
