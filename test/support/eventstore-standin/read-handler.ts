import { randomUUID } from 'node:crypto';
import { ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { CallGate } from './call-gate';
import type { Database } from './database';
import { toFilter } from './filter';
import { eventMessage, streamNameOf, streamNotFoundMessage } from './messages';
import { Outbox } from './outbox';
import type { StoredEvent } from './records';
import {
  accessDenied,
  handlerFailed,
  invalidArgument,
  streamDeleted,
  unreadablePosition,
} from './rpc-errors';
import { AllSubscription } from './subscription';

export type ReadCall = ServerWritableStream<ReadReq, ReadResp>;

/** Streams.Read: reads a stream or the log in either direction, or subscribes to the log. */
export function readHandler(database: Database, gate: CallGate, subscriptions: Set<AllSubscription>) {
  return (call: ReadCall): void => {
    call.on('error', () => {});
    const fail = (error: unknown): void => void call.emit('error', error);
    const requires_leader = call.metadata.get('requires-leader').length > 0;
    gate.enter(
      fail,
      () => {
        const reads_log = call.request.getOptions()?.hasAll() ?? false;
        if (reads_log && gate.faults.current.denied_log) return fail(accessDenied());
        const outbox = new Outbox(call, gate);
        const work = (): Promise<void> =>
          gate.faults.readStall().then(() => serve(database, call, outbox, subscriptions, gate));
        (isHeadRead(call.request) ? gate.readHead(work) : work()).catch(fail);
      },
      requires_leader,
    );
  };
}

function isHeadRead(request: ReadReq): boolean {
  const options = request.getOptions();
  const backwards = options?.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
  return backwards && options?.getAll()?.hasEnd() === true;
}

async function serve(
  database: Database,
  call: ReadCall,
  outbox: Outbox,
  subscriptions: Set<AllSubscription>,
  _gate: CallGate,
): Promise<void> {
  const options = call.request.getOptions();
  if (!options) throw invalidArgument('no options');
  if (!options.hasSubscription()) return send(outbox, findEvents(database, options));
  if (!options.hasAll()) throw invalidArgument('subscriptions to one stream are not part of this stand-in');
  const filter = toFilter(options);
  if (!isReadable(database, options)) throw handlerFailed();
  const start = startOf(database, options);
  const subscription = new AllSubscription({ id: randomUUID(), database, outbox, filter, start });
  subscriptions.add(subscription);
  call.once('cancelled', () => subscription.stop());
  try {
    await subscription.run();
  } finally {
    subscriptions.delete(subscription);
  }
}

async function send(outbox: Outbox, found: readonly StoredEvent[] | { not_found: string }): Promise<void> {
  if ('not_found' in found) await outbox.send(streamNotFoundMessage(found.not_found));
  else for (const event of found) await outbox.send(eventMessage(event));
  outbox.end();
}

function findEvents(
  database: Database,
  options: ReadReq.Options,
): readonly StoredEvent[] | { not_found: string } {
  const count = BigInt(options.getCount());
  if (count === 0n) throw invalidArgument('a count of 0');
  const take = Number(count < 2n ** 31n ? count : 2n ** 31n);
  const backwards = options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
  if (options.hasAll()) {
    const filter = toFilter(options);
    if (!isReadable(database, options)) throw unreadablePosition();
    const found = backwards
      ? allBefore(database, options, take, filter)
      : allFrom(database, options, take, filter);
    return found;
  }
  const wanted = options.getStream();
  if (!wanted) throw invalidArgument('neither a stream nor all');
  if (!options.hasNoFilter()) throw invalidArgument('a stream is read without a filter');
  const name = streamNameOf(wanted.getStreamIdentifier());
  const stream = database.stream(name);
  if (stream.tombstoned) throw streamDeleted(name);
  if (!stream.exists) return { not_found: name };
  const from = wanted.hasRevision() ? BigInt(wanted.getRevision()) : 0n;
  if (!backwards) return wanted.hasEnd() ? [] : stream.from(from).slice(0, take);
  const upTo = stream.from(0n).filter(({ revision }) => wanted.hasEnd() || revision <= from);
  return upTo.reverse().slice(0, take);
}

type Filter = ReturnType<typeof toFilter>;

/** Returns events from the position on, including the one at it. */
function allFrom(database: Database, options: ReadReq.Options, take: number, filter: Filter): StoredEvent[] {
  const all = options.getAll()!;
  if (all.hasEnd()) return [];
  const found: StoredEvent[] = [];
  const first = all.hasStart() ? 0 : database.indexAt(positionIn(options));
  for (let index = first; index < database.all.length && found.length < take; index++) {
    const event = database.all[index]!;
    if (!filter || filter.allows(event)) found.push(event);
  }
  return found;
}

/** Returns events before the position, without the one at it. */
function allBefore(
  database: Database,
  options: ReadReq.Options,
  take: number,
  filter: Filter,
): StoredEvent[] {
  const all = options.getAll()!;
  if (all.hasStart()) return [];
  const found: StoredEvent[] = [];
  const last = all.hasEnd() ? database.all.length : database.indexAt(positionIn(options));
  for (let index = last - 1; index >= 0 && found.length < take; index--) {
    const event = database.all[index]!;
    if (!filter || filter.allows(event)) found.push(event);
  }
  return found;
}

/** Returns whether the server can read the log from the position in `options`, if they have one. */
function isReadable(database: Database, options: ReadReq.Options): boolean {
  const all = options.getAll()!;
  return all.hasStart() || all.hasEnd() || database.isReadableFrom(positionIn(options));
}

/**
 * Returns the index of a subscription's first event. EventStoreDB 23.10 skips one event at or after the requested
 * position, even if none is exactly at it.
 */
function startOf(database: Database, options: ReadReq.Options): number {
  const all = options.getAll()!;
  if (all.hasStart()) return 0;
  if (all.hasEnd()) return database.all.length;
  return Math.min(database.indexAt(positionIn(options)) + 1, database.all.length);
}

function positionIn(options: ReadReq.Options): bigint {
  const position = options.getAll()?.getPosition();
  if (!position) throw invalidArgument('no position');
  const commit = BigInt(position.getCommitPosition());
  if (commit < BigInt(position.getPreparePosition()))
    throw invalidArgument('The commit position cannot be less than the prepare position');
  return commit;
}
