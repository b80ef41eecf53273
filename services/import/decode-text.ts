import { Transform } from 'node:stream';
import { ImportFileError } from './item';

/**
 * Bytes to UTF-8 text without its byte order mark, every kind of line end to `\n`: what is counted as lines then is
 * what an editor shows. Fails with `ImportFileError` on anything but UTF-8.
 */
export function decodeText(path: string): Transform {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let held = '';
  const decode = (chunk?: Buffer): string => {
    let text: string;
    try {
      text = held + (chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode());
    } catch {
      throw new ImportFileError(`${path} is not UTF-8 text`);
    }
    // The half of a line end waits for the other.
    held = chunk && text.endsWith('\r') ? '\r' : '';
    return (held === '' ? text : text.slice(0, -1)).replace(/\r\n?/g, '\n');
  };
  const answer = (chunk: Buffer | undefined, done: (error: Error | null, text?: string) => void): void => {
    let text: string;
    try {
      text = decode(chunk);
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, text);
  };
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => answer(chunk, done),
    flush: (done) => answer(undefined, done),
  });
}
