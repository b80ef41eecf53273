import { writeSync } from 'node:fs';
import pino, { type DestinationStream, type Logger } from 'pino';

import { CatalogError } from './errors';

export type { Logger } from 'pino';

const HIDDEN = '[hidden]';

/** Names of fields whose values are always hidden. `api_key_id` and `key_type` are not secret and do not match. */
const SECRET_NAME =
  /authorization|cookie|password|secret|token|key_hash|(^|[-_.])(api|public|private)[-_]?key$|^key$/i;

/** API keys, JWTs and bearer credentials anywhere in a line, such as in messages, paths and stack traces. */
const SECRET_VALUE =
  /\b[ps]k_(?:live|test)_[\w-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=\bBearer\s)[\w.~+/-]{16,}=*/gi;

/** Matches every JSON line that may have a field with a secret name. Only a line that matches is parsed. */
const MAYBE_SECRET_NAME =
  /(?:authorization|cookie|password|secret|token|key_hash)(?:[^"\\]|\\.)*":|(?:"|[-_.])(?:api|public|private)[-_]?key":|"key":/i;

/** Lines are buffered up to this length, because a system call per line costs more than the line. Half of a Linux pipe. */
const BUFFER_LENGTH = 32_768;
/** A character has at most 3 bytes in UTF-8. The last line may be longer than the rest. */
const BUFFER_BYTES = 4 * BUFFER_LENGTH;
/** Maximum time that a line is buffered. */
const FLUSH_DELAY_MS = 100;

/**
 * Logs a failure of background work that is retried. Uses level `debug` for an unavailable server, because the pipelines
 * and readiness report it, too.
 */
export function logBackgroundFailure(
  log: Logger,
  error: unknown,
  message: string,
  fields: object = {},
): void {
  const unavailable = error instanceof CatalogError && error.condition === 'unavailable';
  log[unavailable ? 'debug' : 'warn']({ ...fields, err: error }, message);
}

export interface LogOptions {
  readonly level: pino.LevelWithSilent;
  /** File descriptor 1 (default) or 2, or a stream. */
  readonly destination?: 1 | 2 | DestinationStream;
  /** Returns fields to add to a line. Called for each line. */
  readonly fields?: () => object;
}

/**
 * Creates a logger that writes one JSON object per line. Hides secrets in the finished line, which includes the
 * bindings of child loggers and serialized errors: values of fields with a secret name at any depth, and every text
 * that looks like an API key or a token.
 */
export function createLogger({ level, destination = 1, fields }: LogOptions): Logger {
  const sink = typeof destination === 'number' ? bufferedSink(destination) : destination;
  const formatters = { level: (label: string) => ({ level: label }) };
  const stream = {
    [PINO_METADATA]: true,
    lastLevel: 0,
    write: (line: string) => {
      sink.write(hideSecretValues(hideSecretFields(line)));
      if (stream.lastLevel >= pino.levels.values.warn!) (sink as Partial<Flushing>).flushSync?.();
    },
  };
  const serializers = { err: serializeError };
  const options = { level, formatters, serializers, timestamp: timeField };
  return pino({ ...options, ...(fields && { mixin: fields }) }, stream);
}

let formatted_ms = Number.NaN;
let time_field = '';

/** Returns the time as a field of a line. Formats each millisecond once: a busy process writes several lines in it. */
function timeField(): string {
  const now_ms = Date.now();
  if (now_ms !== formatted_ms) time_field = `,"time":"${new Date(now_ms).toISOString()}"`;
  formatted_ms = now_ms;
  return time_field;
}

/**
 * Serializes an error with its causes. If it has no message, like an `AggregateError` of Node, uses the message
 * of its first part or cause, or else its name.
 */
function serializeError(error: unknown): unknown {
  const shown: unknown = pino.stdSerializers.err(error as Error);
  if (typeof shown !== 'object' || shown === null || !('message' in shown)) return shown;
  return /^(: |$)/.test(String(shown.message)) ? { ...shown, message: messageOf(error) } : shown;
}

function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, cause, errors, name, code } = error as NodeJS.ErrnoException & { errors?: unknown[] };
  if (message) return message;
  const inner = errors?.[0] ?? cause;
  return inner === undefined ? (code ?? name) : messageOf(inner);
}

/** Makes pino set `lastLevel` before each write (https://getpino.io/#/docs/api?id=metadata). */
const PINO_METADATA = Symbol.for('pino.metadata');

interface Flushing {
  flushSync(): void;
}

/** How long to wait before writing again to a pipe that is full. */
const FULL_PIPE_MS = 5;

/** A write of so many bytes to a pipe is never mixed with one of another process. POSIX calls it `PIPE_BUF`. */
const ATOMIC_BYTES = 4_096;
const LINE_END = 10;

/**
 * Writes whole lines at once, because several processes of the service share a log. Gives up if the file fails: the
 * service must not end because its log cannot be written.
 */
function writeAll(fd: number, text: string, buffer: Buffer): void {
  // The memory of a new buffer for each text costs more than its bytes.
  const bytes = 3 * text.length > buffer.length ? Buffer.from(text) : buffer.subarray(0, buffer.write(text));
  for (let start = 0; start < bytes.length; ) {
    try {
      start += writeSync(fd, bytes, start, endOfLines(bytes, start) - start);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS);
    }
  }
}

/** Returns the end of the lines from `start` on that can be written at once. A longer line alone may be mixed. */
function endOfLines(bytes: Buffer, start: number): number {
  const last = start + ATOMIC_BYTES - 1;
  if (bytes.length <= last + 1) return bytes.length;
  const end = bytes.lastIndexOf(LINE_END, last);
  return (end >= start ? end : bytes.indexOf(LINE_END, start)) + 1 || bytes.length;
}

/**
 * Buffers lines for at most `FLUSH_DELAY_MS`. Flushes when the process exits; the logger flushes after each warning
 * or error. If the process is killed, the lines of the last `FLUSH_DELAY_MS` may be lost.
 *
 * `pino.destination` is not used, because it also syncs the file to the disk at each flush. If the log is a file, that
 * holds the event loop for as long as the disk is busy.
 */
function bufferedSink(fd: 1 | 2): DestinationStream & Flushing {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let buffered = '';
  let timer: NodeJS.Timeout | undefined;
  let is_exit_handled = false;
  const flushSync = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = buffered;
    buffered = '';
    writeAll(fd, text, buffer);
  };
  const write = (line: string): void => {
    if (!is_exit_handled) process.on('exit', flushSync);
    is_exit_handled = true;
    buffered += line;
    if (buffered.length >= BUFFER_LENGTH) flushSync();
    else timer ??= setTimeout(flushSync, FLUSH_DELAY_MS).unref();
  };
  return { write, flushSync };
}

/** Matches every text that `SECRET_VALUE` matches, and is several times faster on the others. */
const MAYBE_SECRET_VALUE = /k_(?:live|test)_|eyJ|Bearer\s/i;

/** Replaces API keys, JWTs and bearer credentials in a text. */
export function hideSecretValues(text: string): string {
  return MAYBE_SECRET_VALUE.test(text) ? text.replace(SECRET_VALUE, HIDDEN) : text;
}

/** Replaces the values of fields with a secret name. Tests the line first, because parsing every line would be slow. */
function hideSecretFields(line: string): string {
  if (!MAYBE_SECRET_NAME.test(line)) return line;
  const hide = (name: string, value: unknown): unknown => (SECRET_NAME.test(name) ? HIDDEN : value);
  return `${JSON.stringify(JSON.parse(line, hide))}\n`;
}
