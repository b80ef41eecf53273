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
        options.hasAll() ? findInLog(database, options) : findInStream(database, options),
      );
    };
    const backwards = options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
    const reads_head = backwards && options.getAll()?.hasEnd() === true;
    const requires_leader = call.metadata.get('requires-leader').length > 0;
    gate.enter(fail, () => (reads_head ? gate.readHead(serve) : serve()), requires_leader);
  };
}

/** Sends new events until the reader leaves or the stand-in ends the call. */
function subscribe(database: Database, call: ReadCall, gate: CallGate, subscriptions: Set<ReadCall>): void {
  const options = call.request.getOptions()!;
  if (!options.getAll()?.hasEnd()) throw invalidArgument('this stand-in only delivers new events of the log');
  const isWanted = filterOf(options);
  const confirmation = new ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID());
  call.write(new ReadResp().setConfirmation(confirmation));
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
  found: readonly StoredEvent[] | undefined,
): Promise<void> {
  const gone = new AbortController();
  for (const event of ['cancelled', 'close']) call.once(event, () => gone.abort());
  if (!found) {
    const identifier = call.request.getOptions()!.getStream()!.getStreamIdentifier();
    call.write(
      new ReadResp().setStreamNotFound(new ReadResp.StreamNotFound().setStreamIdentifier(identifier)),
    );
  }
  for (const [sent, event] of (found ?? []).entries()) {
    const { read_pause_ms, cut_reads_after_events } = gate.faults.current;
    if (read_pause_ms > 0) await sleep(read_pause_ms);
    if (gone.signal.aborted) return;
    if (sent >= cut_reads_after_events && gate.faults.take('cut_reads')) return gate.cut(call);
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

/** Forwards: the event at the position and later ones. Backwards: those before the position. */
function findInLog(database: Database, options: ReadReq.Options): StoredEvent[] {
  const isWanted = filterOf(options);
  const start = startOf(database, options);
  const step = options.getReadDirection() === ReadReq.Options.ReadDirection.FORWARDS ? 1 : -1;
  const found: StoredEvent[] = [];
  let index = step === 1 ? start : start - 1;
  for (; database.all[index] && found.length < Number(options.getCount()); index += step)
    if (isWanted(database.all[index]!)) found.push(database.all[index]!);
  return found;
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
