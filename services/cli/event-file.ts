import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { readLog } from '../../projections/engine/read-log';
import {
  type EncodedEvent,
  isUnreadable,
  parseStreamName,
  type RecordedEvent,
  START,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { APPEND_BYTES_MAX, type EventStore } from '../../shared/ports/event-store';
import { readLines } from '../import/text-file';
import { CliError } from './invocation';

/*
 * A file of all events (docs/operations/backup.md#moving-a-log). JSON Lines: a header, the events of each realm in
 * log order, and a last line with their number. Each line ends with the SHA-256 of the hash before it and of the line
 * itself, so an import notices changed, missing and additional lines. The last line shows that the file is complete. The file
 * has no positions, because each store numbers its events itself: a log and its copy in another store give the same file,
 * except for the revisions of streams that were purged.
 */

type Logs = Readonly<Record<Realm, EventStore>>;

/** An event of the file. */
interface FiledEvent extends EncodedEvent {
  readonly stream: StreamName;
  readonly revision: number;
}

const HEADER = { format: 'catalog-events', version: 1 } as const;
/** How much text is written to the file at once. */
const WRITE_CHARACTERS = 1 << 20;
const SEALED = /^(.*),"hash":"([0-9a-f]{64})"\}$/s;

class HashChain {
  private last = '';

  seal(value: object): string {
    const text = JSON.stringify(value);
    return `${text.slice(0, -1)},"hash":"${this.advance(text)}"}\n`;
  }

  /** Returns the value of a line, or undefined if the line does not continue the chain. */
  open(line: string): unknown {
    const [, text, hash] = SEALED.exec(line) ?? [];
    return text !== undefined && this.advance(`${text}}`) === hash ? JSON.parse(`${text}}`) : undefined;
  }

  private advance(text: string): string {
    this.last = createHash('sha256').update(this.last).update(text).digest('hex');
    return this.last;
  }
}

/**
 * Writes the events of all realms to a new file that only its owner can read. Processes may append meanwhile; their new
 * events are left out. Returns the number of events, and the streams with an event that cannot be read and is filed
 * without its data. Removes the file if it fails.
 */
export async function exportEvents(
  logs: Logs,
  path: string,
  on_progress: (done: number) => void,
): Promise<{ events: number; damaged: string[] }> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      error.code === 'EEXIST' ? `The file ${path} exists. Use another name.` : error.message,
    );
  });
  try {
    return await writeEvents(logs, file, on_progress);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function writeEvents(logs: Logs, file: FileHandle, on_progress: (done: number) => void) {
  const chain = new HashChain();
  const damaged = new Set<string>();
  let events = 0;
  let text = chain.seal(HEADER);
  const heads = await Promise.all(REALMS.map((realm) => logs[realm].head()));
  for (const [index, realm] of REALMS.entries())
    for await (const batch of readLog(logs[realm], { after: START, to: heads[index]! })) {
      for (const event of batch.events) {
        const { stream, revision, id, type, schema_version, data, metadata } = event;
        if (isUnreadable(event)) damaged.add(stream);
        text += chain.seal({ stream, revision, id, type, schema_version, data, metadata });
        events++;
        if (text.length < WRITE_CHARACTERS) continue;
        await file.write(text);
        text = '';
      }
      on_progress(events);
    }
  await file.write(text + chain.seal({ events }));
  await file.sync();
  return { events, damaged: [...damaged] };
}

/**
 * Appends the events of a file that are not in the logs yet. The logs must be empty, or contain the beginning of the file
 * and nothing else, so that an interrupted import can be repeated. Checks this and the whole file before it writes. Ends
 * early if `signal` aborts. Returns the number of events of the file, and how many were appended.
 */
export async function importEvents(
  logs: Logs,
  path: string,
  { signal, on_progress }: { signal: AbortSignal; on_progress: (done: number, total: number) => void },
): Promise<{ events: number; appended: number }> {
  const { events, present } = await compare(logs, path);
  let skipped = 0;
  let appended = 0;
  let run: FiledEvent[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (run.length > 0) await append(logs, run);
    appended += run.length;
    run = [];
    bytes = 0;
    on_progress(skipped + appended, events);
  };
  for await (const { event, line_bytes } of readEvents(path)) {
    if (present[realmOf(event)] > 0) {
      present[realmOf(event)]--;
      skipped++;
      continue;
    }
    // One append for what one write appended, and for other events of one stream in a row.
    if (run[0]?.stream !== event.stream || bytes + line_bytes > APPEND_BYTES_MAX) await flush();
    if (signal.aborted) return { events, appended };
    run.push(event);
    bytes += line_bytes;
  }
  await flush();
  return { events, appended };
}

/**
 * Appends consecutive events of a stream. A stream whose earlier events were purged has higher revisions in the file than
 * it gets here: an append cannot begin a stream above revision 0.
 */
async function append(logs: Logs, run: readonly FiledEvent[]): Promise<void> {
  const { stream, revision } = run[0]!;
  const log = logs[realmOf(run[0]!)];
  const events = run.map(({ stream: _, revision: __, ...event }) => event);
  let result = await log.append(stream, revision - 1, events);
  if (result.outcome === 'wrong_revision' && result.actual < revision - 1)
    result = await log.append(stream, result.actual, events);
  if (result.outcome === 'wrong_revision')
    throw new CliError(
      `Event ${revision} of ${stream} cannot be appended: the last one in the log is ${result.actual}. Stop all other ` +
        'processes, and import again into an empty catalog.',
    );
}

/** Counts the events of the file, and those that each log already has. Throws `CliError` if they do not match. */
async function compare(logs: Logs, path: string) {
  const present: Record<Realm, number> = { control: 0, live: 0, test: 0 };
  const stored = { control: eventsOf(logs.control), live: eventsOf(logs.live), test: eventsOf(logs.test) };
  const refuse = (realm: Realm, event: { stream: string; revision: number }): never => {
    throw new CliError(
      `The log of ${realm} contains event ${event.revision} of ${event.stream}, which is not at this place of the file. ` +
        'Import into an empty catalog.',
    );
  };
  let events = 0;
  try {
    for await (const { event } of readEvents(path)) {
      events++;
      const realm = realmOf(event);
      const { value, done } = await stored[realm].next();
      if (done) continue;
      if (value.id !== event.id || value.stream !== event.stream) refuse(realm, value);
      present[realm]++;
    }
    for (const realm of REALMS) {
      const { value, done } = await stored[realm].next();
      if (!done) refuse(realm, value);
    }
    return { events, present };
  } finally {
    for (const realm of REALMS) await stored[realm].return(undefined);
  }
}

async function* eventsOf(log: EventStore): AsyncGenerator<RecordedEvent, undefined> {
  for await (const { events } of readLog(log, { after: START, to: await log.head() })) yield* events;
}

/** Reads the events of a file. Throws `CliError` at the first line that was changed since the export. */
async function* readEvents(path: string): AsyncGenerator<{ event: FiledEvent; line_bytes: number }> {
  const chain = new HashChain();
  let has_header = false;
  let is_complete = false;
  for await (const { line, text } of readLines(path)) {
    const value = chain.open(text) as (typeof HEADER & FiledEvent & { events: number }) | undefined;
    if (!has_header && value?.format !== HEADER.format)
      throw new CliError(`The file ${path} was not written by "catalog events export".`);
    if (!has_header && value?.version !== HEADER.version)
      throw new CliError(`The file ${path} has version ${value?.version}; this release reads version 1.`);
    has_header = true;
    if (!value || is_complete)
      throw new CliError(`Line ${line} of ${path} was changed, or a line before it is missing.`);
    if (value.stream) yield { event: value, line_bytes: Buffer.byteLength(text) };
    is_complete = value.events !== undefined;
  }
  if (!is_complete) throw new CliError(`The file ${path} is incomplete: its last line is missing.`);
}

const realmOf = ({ stream }: { stream: string }): Realm => parseStreamName(stream)!.realm;
