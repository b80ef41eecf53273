import pino, { type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

const HIDDEN = '[hidden]';

/** Fields whose value is never written, whatever it is. `api_key_id` and `key_type` are no secrets. */
const SECRET_NAME =
  /authorization|cookie|password|secret|token|key_hash|(^|[-_.])(api|public|private)[-_]?key$|^key$/i;

/** API keys, JWTs and bearer credentials, wherever in a line they stand: in messages, paths, stacks of errors. */
const SECRET_VALUE =
  /\b[ps]k_(?:live|test)_[\w-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=\bBearer\s)[\w.~+/-]{16,}=*/gi;

/** Of a line that is JSON: whether one of its fields may be called so. What is not certain is looked at closely. */
const MAYBE_SECRET_NAME =
  /(?:authorization|cookie|password|secret|token|key_hash)(?:[^"\\]|\\.)*":|(?:"|[-_.])(?:api|public|private)[-_]?key":|"key":/i;

/** Lines are written together where they come thick: one system call for each would cost more than the line. */
const BLOCK_BYTES = 8_192;
/** How long a line may wait for others. */
const DELAY_MS = 100;

export interface LogOptions {
  readonly level: pino.LevelWithSilent;
  /** The file descriptor 1 (the default) or 2, or a stream of the caller's. */
  readonly destination?: 1 | 2 | DestinationStream;
}

/**
 * Structured logs: one JSON object per line. No key, token or secret reaches a line: it is gone over when it is
 * finished, with the bindings of child loggers and what serializers made of errors; fields are hidden by their names
 * at any depth, and whatever looks like a key or a token is cut out of the texts.
 */
export function createLogger({ level, destination = 1 }: LogOptions): Logger {
  const sink = typeof destination === 'number' ? inBlocks(destination) : destination;
  const formatters = { level: (label: string) => ({ level: label }) };
  const stream = {
    [LEVEL_WANTED]: true,
    lastLevel: 0,
    write: (line: string) => {
      sink.write(hideSecrets(hideByName(line)));
      if (stream.lastLevel >= pino.levels.values.warn!) (sink as Partial<Flushing>).flushSync?.();
    },
  };
  return pino({ level, formatters, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

/** Asks pino to say each line's level as `lastLevel`. */
const LEVEL_WANTED = Symbol.for('pino.metadata');

interface Flushing {
  flushSync(): void;
}

/** Nothing is left behind at the end of the process, nor what came before a warning or an error; a kill may lose `DELAY_MS`. */
function inBlocks(fd: 1 | 2): DestinationStream & Flushing {
  const sink = pino.destination({ dest: fd, sync: true, minLength: BLOCK_BYTES });
  let timer: NodeJS.Timeout | undefined;
  let used = false;
  const flushSync = (): void => {
    clearTimeout(timer);
    timer = undefined;
    sink.flushSync();
  };
  const write = (line: string): void => {
    if (!used) process.on('exit', flushSync);
    used = true;
    sink.write(line);
    timer ??= setTimeout(flushSync, DELAY_MS).unref();
  };
  return { write, flushSync };
}

/** The text without API keys, JWTs and bearer credentials. */
function hideSecrets(text: string): string {
  return text.replace(SECRET_VALUE, HIDDEN);
}

/** With its line end. Most lines hold no such field, and are told by one look rather than taken apart. */
function hideByName(line: string): string {
  if (!MAYBE_SECRET_NAME.test(line)) return line;
  const hide = (name: string, value: unknown): unknown => (SECRET_NAME.test(name) ? HIDDEN : value);
  return `${JSON.stringify(JSON.parse(line, hide))}\n`;
}
