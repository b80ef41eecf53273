import { pino } from 'pino';
import { assertMadeFromLog, LogMatch } from '../../../projections/engine/log-match';
import { readLog } from '../../../projections/engine/read-log';
import { countedEventStore } from '../../../services/metrics/counted-event-store';
import { ServiceMetrics } from '../../../services/metrics/service-metrics';
import { CatalogError, LogMismatchError } from '../../../shared/kernel/errors';
import { NO_STREAM } from '../../../shared/ports/event-store';
import type { ViewVersion } from '../../../shared/ports/view-store';
import { aStream, someEvents } from '../../contract/some-events';
import { openViews } from '../../support/faulty-views';
import { MemoryEventStore } from '../../support/memory-event-store';
import { waitFor } from '../../support/wait-for';

const STREAM = 'live.publication-0190a5d0-ac96-774b-8cce-b302099a8057' as const;

/** A log with these events, and an active version whose partition 0 has projected all of them. */
async function projected(titles: readonly string[]) {
  const events = new MemoryEventStore();
  for (const title of titles) await events.push(STREAM as never, 'Happened', { title }, 'store-1');
  const views = await openViews();
  const { version } = await views.createVersion(1);
  await views.activate(version);
  const view: ViewVersion = await views.open(version);
  const last = events.log.at(-1)!;
  const mark = { position: last.position, event_id: last.id };
  await view.apply({ partition: 0, revision: 0, checkpoint: last.position, writes: [], mark });
  return { events, views, view };
}

describe('a version is refused as made from another log if', () => {
  test('the log ends before a checkpoint', async () => {
    const { events, view } = await projected(['one', 'two']);
    await assertMadeFromLog(events, view);
    events.log.pop();
    await expect(assertMadeFromLog(events, view)).rejects.toThrow(/reach position 2, but the log ends at 1/);
  });

  test('the log has another event at the position of the mark', async () => {
    const { events, view } = await projected(['one', 'two']);
    events.log.pop();
    for (const title of ['other', 'more'])
      await events.push(STREAM as never, 'Happened', { title }, 'store-1');
    await expect(assertMadeFromLog(events, view)).rejects.toBeInstanceOf(LogMismatchError);
  });
});

/** A `LogMatch` of a version and its log, and the levels of the lines that it has logged. */
async function matching() {
  const { events, views, view } = await projected(['one', 'two']);
  const levels: number[] = [];
  const log = pino({}, { write: (line) => void levels.push((JSON.parse(line) as { level: number }).level) });
  return { events, views, view, levels, match: new LogMatch({ realm: 'live', events, views, log }) };
}

/** Answers the next reading of the head as a server does that was the leader until another one was elected. */
function answerOnceFromOldLeader(events: MemoryEventStore): { readonly answered: boolean } {
  const head = events.head.bind(events);
  const state = { answered: false };
  events.head = async () => {
    events.head = head;
    state.answered = true;
    return 1n;
  };
  return state;
}

test('a mismatch is logged when it begins and when it ends, and only then', async () => {
  const { events, match, levels } = await matching();
  expect(await match.check()).toBeUndefined();
  const lost = events.log.pop()!;
  await expect(match.assert()).rejects.toBeInstanceOf(LogMismatchError);
  for (let n = 0; n < 3; n++) expect(await match.check()).toBeInstanceOf(LogMismatchError);
  events.log.push(lost);
  for (let n = 0; n < 3; n++) expect(await match.check()).toBeUndefined();
  await match.assert();
  expect(levels).toEqual([50, 30]);
});

describe('one reading of an old leader is not believed', () => {
  test('by writes, which wait for a second one', async () => {
    const { events, match, levels } = await matching();
    const old_leader = answerOnceFromOldLeader(events);
    await match.run(async () => {});
    expect(old_leader.answered).toBe(true);
    expect(levels).toEqual([]);
  });

  test('by a dispatcher or a command', async () => {
    const { events, match, view, levels } = await matching();
    answerOnceFromOldLeader(events);
    await match.assert();
    answerOnceFromOldLeader(events);
    await assertMadeFromLog(events, view);
    expect(levels).toEqual([]);
  });

  test('by a rebuild, which reads the log up to a position', async () => {
    const { events } = await projected(['one', 'two']);
    answerOnceFromOldLeader(events);
    const ids: string[] = [];
    for await (const batch of readLog(events, { after: 0n, to: 2n }))
      ids.push(...batch.events.map(({ id }) => id));
    expect(ids).toEqual(events.log.map(({ id }) => id));
  });
});

test('appends are refused from the first one of a process, and only as long as the log does not match', async () => {
  const { events, match } = await matching();
  const store = countedEventStore(events, 'live', new ServiceMetrics(), match);
  const append = () => store.append(aStream(), NO_STREAM, someEvents(1));
  const lost = events.log.pop()!;
  for (let n = 0; n < 2; n++) await expect(append()).rejects.toBeInstanceOf(LogMismatchError);
  events.log.push(lost);
  await waitFor(async () => (await append()).outcome === 'appended', { what: 'an append to be tried again' });
});

test('an event store that cannot be reached refuses a write; documents that cannot be read do not', async () => {
  const { events, views } = await projected(['one']);
  const match = new LogMatch({ realm: 'live', events, views, log: pino({ level: 'silent' }) });
  const head = events.head.bind(events);
  events.head = () => Promise.reject(new Error('unreachable'));
  const write = () => match.run(async () => 'sent');
  await expect(write()).rejects.toThrow('unreachable');
  await expect(match.check()).rejects.toThrow('unreachable');
  events.head = head;
  views.versions = () => Promise.reject(new Error('unreadable'));
  expect(await write()).toBe('sent');
});

describe('over a new connection, which may lead to another log', () => {
  /** Makes the store's connection the next one. */
  const reconnect = (events: MemoryEventStore & { connection_number?: number }): void => {
    events.connection_number = (events.connection_number ?? 0) + 1;
  };

  /** A log of a process that has appended an event which the documents do not have yet. */
  async function appended() {
    const { events, views, ...matched } = await matching();
    reconnect(events);
    const store = countedEventStore(events, 'live', new ServiceMetrics(), matched.match);
    await store.append(aStream(), NO_STREAM, someEvents(1));
    return { events, views, store, ...matched };
  }

  test('a look-up waits for a check over it, also if the connection is made during the look-up', async () => {
    const { events, match } = await matching();
    const store = countedEventStore(events, 'live', new ServiceMetrics(), match);
    const read = () => store.readStream(STREAM as never);
    reconnect(events);
    expect(await read()).toHaveLength(2);
    const lost = events.log.pop()!;
    reconnect(events);
    await expect(read()).rejects.toBeInstanceOf(LogMismatchError);
    events.log.push(lost);
    await waitFor(async () => (await read()).length === 2, { what: 'the right log to be read' });
    const readStream = events.readStream.bind(events);
    events.readStream = async () => {
      events.readStream = readStream;
      reconnect(events);
      return [];
    };
    expect(await read()).toHaveLength(2);
  });

  test('a check is not made for each call', async () => {
    const { events, store } = await appended();
    const markAt = jest.spyOn(events, 'markAt');
    for (let n = 0; n < 3; n++) await store.append(aStream(), NO_STREAM, someEvents(1));
    expect(markAt).not.toHaveBeenCalled();
  });

  test('a log without the newest event of the process is refused, also if the documents do not have it', async () => {
    const { events, store } = await appended();
    const lost = events.log.pop()!;
    reconnect(events);
    const append = () => store.append(aStream(), NO_STREAM, someEvents(1));
    await expect(append()).rejects.toBeInstanceOf(LogMismatchError);
    events.log.push(lost);
    await waitFor(async () => (await append()).outcome === 'appended', {
      what: 'the right log to be written',
    });
  });

  test('a log without it is the right one after a rebuild of the documents', async () => {
    const { events, views, store } = await appended();
    events.log.pop();
    const { version } = await views.createVersion(1);
    await views.activate(version);
    reconnect(events);
    expect(await store.append(aStream(), NO_STREAM, someEvents(1))).toMatchObject({ outcome: 'appended' });
  });

  test('an append over the same connection with a position before the newest event is checked', async () => {
    const { events, store } = await appended();
    events.log.splice(1);
    await expect(store.append(aStream(), NO_STREAM, someEvents(1))).rejects.toMatchObject({
      condition: 'database_timeout',
    });
  });

  test('an append that may be stored is not reported as refused if the check after it cannot be made', async () => {
    const { events, store } = await appended();
    const append = events.append.bind(events);
    events.append = async (...call) => {
      reconnect(events);
      events.head = () => Promise.reject(new CatalogError('unavailable'));
      return append(...call);
    };
    const appending = store.append(aStream(), NO_STREAM, someEvents(1));
    await expect(appending).rejects.toMatchObject({ condition: 'database_timeout', retry_after_s: 1 });
  });
});
