import pino, { type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

const HIDDEN = '[hidden]';

/** Fields whose value is never written, whatever it is. `api_key_id` and `key_type` are no secrets. */
const SECRET_NAME =
  /authorization|cookie|password|secret|token|key_hash|(^|[-_.])(api|public|private)[-_]?key$|^key$/i;

/** API keys, JWTs and bearer credentials, wherever in a line they stand: in messages, paths, stacks of errors. */
const SECRET_VALUE =
  /\b[ps]k_(?:live|test)_[\w-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=\bBearer\s)[\w.~+/-]{16,}=*/gi;

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
  const sink =
    typeof destination === 'number' ? pino.destination({ dest: destination, sync: true }) : destination;
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino(
    { level, formatters, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => sink.write(`${hideSecrets(hideByName(line))}\n`) },
  );
}

/** The text without API keys, JWTs and bearer credentials. */
export function hideSecrets(text: string): string {
  return text.replace(SECRET_VALUE, HIDDEN);
}

function hideByName(line: string): string {
  const hide = (name: string, value: unknown): unknown => (SECRET_NAME.test(name) ? HIDDEN : value);
  return JSON.stringify(JSON.parse(line, hide));
}
