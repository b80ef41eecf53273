import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { CallGate } from './call-gate';
import type { Database, StoredEvent } from './database';
import { accessDenied, invalidArgument, streamDeleted, unreadablePosition } from './rpc-errors';

export type ReadCall = ServerWritableStream<ReadReq, ReadResp>;

/** Streams.Read: reads a stream or the log, or subscribes to new events of the log. */
export function readHandler(database: Database, gate: CallGate, subscriptions: Set<ReadCall>) {
  return (call: ReadCall): void => {
    call.on('error', () => {});
    const fail = (error: unknown): void => void call.emit('error', error);
    const options = call.request.getOptions()!;
    const serve = async (): Promise<void> => {
      if (options.hasAll() && gate.faults.current.denied_log) throw accessDenied();
      const { read_stall_ms } = gate.faults.current;
      if (read_stall_ms > 0) await sleep(read_stall_ms);
      if (options.hasSubscription()) return subscribe(database, call, gate, subscriptions);
      if (options.getCount() === '0') throw invalidArgument('a count of 0');
      await send(
        call,
        gate,
        options.hasAll() ? findInLog(database, gate, options) : findInStream(database, options),
      );
    };
    const backwards = options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
    const reads_head = backwards && options.getAll()?.hasEnd() === true;
    const requires_leader = call.metadata.get('requires-leader').length > 0;
    gate.enter(fail, () => (reads_head ? gate.readHead(serve) : serve()), requires_leader);
  };
}

/**
 * Sends the events after a place and new ones until the reader leaves or the stand-in ends the call. Says how far it has
 * examined the log: where the next event begins.
 */
async function subscribe(
  database: Database,
  call: ReadCall,
  gate: CallGate,
  subscriptions: Set<ReadCall>,
): Promise<void> {
  const options = call.request.getOptions()!;
  const isWanted = filterOf(options);
  const confirmation = new ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID());
  call.write(new ReadResp().setConfirmation(confirmation));
  const onExamined = ({ position }: StoredEvent): void => {
    const checkpoint = new ReadResp.Checkpoint().setCommitPosition(String(position));
    call.write(new ReadResp().setCheckpoint(checkpoint.setPreparePosition(String(position))));
  };
  const after = Number(options.getAll()?.getPosition()?.getCommitPosition() ?? -1);
  for await (const event of findInLog(database, gate, options, onExamined)) {
    if (call.cancelled) return;
    if (event.position > after) call.write(eventMessage(event));
  }
  call.write(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()));
  let dumb = false;
  const unwatch = database.watch((event) => {
    // A silence is permanent: events that were not sent during it are never sent.
    dumb ||= gate.faults.current.silent || gate.faults.current.dumb_subscriptions;
    if (!dumb && isWanted(event)) call.write(eventMessage(event));
  });
  subscriptions.add(call);
  for (const event of ['cancelled', 'close'])
    call.once(event, () => {
      unwatch();
      subscriptions.delete(call);
    });
}

/** Sends the events, no faster than the reader takes them. Undefined: the stream does not exist. */
async function send(
  call: ReadCall,
  gate: CallGate,
  found: Iterable<StoredEvent> | AsyncIterable<StoredEvent> | undefined,
): Promise<void> {
  const gone = new AbortController();
  for (const event of ['cancelled', 'close']) call.once(event, () => gone.abort());
  if (!found) {
    const identifier = call.request.getOptions()!.getStream()!.getStreamIdentifier();
    call.write(
      new ReadResp().setStreamNotFound(new ReadResp.StreamNotFound().setStreamIdentifier(identifier)),
    );
  }
  let sent = 0;
  for await (const event of found ?? []) {
    const { read_pause_ms, cut_reads_after_events } = gate.faults.current;
    if (read_pause_ms > 0) await sleep(read_pause_ms);
    if (gone.signal.aborted) return;
    if (sent++ >= cut_reads_after_events && gate.faults.take('cut_reads')) return gate.cut(call);
    if (!call.write(eventMessage(event))) await once(call, 'drain', { signal: gone.signal }).catch(() => {});
  }
  call.end();
}

function findInStream(database: Database, options: ReadReq.Options): StoredEvent[] | undefined {
  const wanted = options.getStream();
  if (!wanted) throw invalidArgument('neither a stream nor all');
  const name = streamNameOf(wanted);
  const stream = database.stream(name);
  if (stream.tombstoned) throw streamDeleted(name);
  if (!stream.exists) return undefined;
  const count = Number(options.getCount());
  if (options.getReadDirection() === ReadReq.Options.ReadDirection.FORWARDS)
    return stream.from(Number(wanted.getRevision())).slice(0, count);
  if (!wanted.hasEnd()) throw invalidArgument('this stand-in reads streams backwards from their end only');
  return stream.from(0).reverse().slice(0, count);
}

/** How many events a search examines at a time. */
const EXAMINED_EVENTS = 4_096;

/**
 * Forwards: the event at the position and later ones. Backwards: those before the position. Calls `onExamined` with the
 * next event from time to time.
 */
async function* findInLog(
  database: Database,
  gate: CallGate,
  options: ReadReq.Options,
  onExamined: (next: StoredEvent) => void = () => {},
): AsyncGenerator<StoredEvent> {
  const isWanted = filterOf(options);
  const start = startOf(database, options);
  const step = options.getReadDirection() === ReadReq.Options.ReadDirection.FORWARDS ? 1 : -1;
  let left = options.hasCount() ? Number(options.getCount()) : Number.POSITIVE_INFINITY;
  let index = step === 1 ? start : start - 1;
  for (let examined = 1; database.all[index] && left > 0; examined++, index += step) {
    const event = database.all[index]!;
    if (options.hasFilter()) gate.examined_events++;
    if (isWanted(event)) {
      left--;
      yield event;
    }
    if (!options.hasFilter() || examined % EXAMINED_EVENTS > 0) continue;
    await sleep((1_000 * EXAMINED_EVENTS) / gate.faults.current.searched_per_s);
    const next = database.all[index + step];
    if (next) onExamined(next);
  }
}

/** Returns the index of the first event at or after the position in `options`. */
function startOf(database: Database, options: ReadReq.Options): number {
  const all = options.getAll()!;
  if (all.hasStart()) return 0;
  if (all.hasEnd()) return database.all.length;
  const position = Number(all.getPosition()?.getCommitPosition());
  if (!database.isReadableFrom(position)) throw unreadablePosition();
  return database.indexAt(position);
}

/** Throws if the server would refuse the filter. */
function filterOf(options: ReadReq.Options): (event: StoredEvent) => boolean {
  const filter = options.getFilter();
  if (!filter) return () => true;
  if (!filter.hasMax() && !filter.hasCount()) throw invalidArgument('no search window');
  if (filter.getCheckpointintervalmultiplier() === 0) throw invalidArgument('a checkpoint interval of 0');
  const prefixes = filter.getStreamIdentifier()?.getPrefixList() ?? [];
  if (prefixes.length === 0) throw invalidArgument('this stand-in filters by the prefix of streams only');
  return ({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix));
}

/** The unit of `created` is 100 ns. */
const TICKS_PER_MS = 10_000;

function eventMessage(event: StoredEvent): ReadResp {
  const recorded = new ReadResp.ReadEvent.RecordedEvent();
  recorded.setId(new UUID().setString(event.id));
  recorded.setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from(event.stream)));
  recorded.setStreamRevision(String(event.revision));
  recorded.setCommitPosition(String(event.position));
  recorded.setPreparePosition(String(event.position));
  recorded.getMetadataMap().set('type', event.type);
  recorded.getMetadataMap().set('content-type', event.content_type);
  recorded.getMetadataMap().set('created', String(event.created_ms * TICKS_PER_MS));
  recorded.setData(event.data);
  recorded.setCustomMetadata(event.metadata);
  const read = new ReadResp.ReadEvent().setEvent(recorded);
  return new ReadResp().setEvent(read.setCommitPosition(String(event.position)));
}

export function streamNameOf(options: { getStreamIdentifier(): StreamIdentifier | undefined }): string {
  const name = Buffer.from(options.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8');
  if (name === '') throw invalidArgument('a stream name is required');
  return name;
}
