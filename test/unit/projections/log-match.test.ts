import { pino } from 'pino';
import { addMark, assertMadeFromLog, LogMatch } from '../../../projections/engine/log-match';
import { LogMismatchError } from '../../../shared/kernel/errors';
import type { ViewVersion } from '../../../shared/ports/view-store';
import { MemoryEventStore } from '../../support/memory-event-store';
import { MemoryViewStore } from '../../support/memory-view-store';

const STREAM = 'live.publication-0190a5d0-ac96-774b-8cce-b302099a8057' as const;

/** A log with these events, and an active version whose partition 0 has projected all of them. */
async function projected(titles: readonly string[]) {
  const events = new MemoryEventStore();
  for (const title of titles) await events.push(STREAM as never, 'Happened', { title }, 'store-1');
  const views = new MemoryViewStore();
  const { version } = await views.createVersion(1);
  await views.activate(version);
  const view: ViewVersion = await views.open(version);
  const last = events.log.at(-1)!;
  const mark = { position: last.position, event_id: last.id };
  await view.apply({ partition: 0, from: 0n, to: last.position, phases: [], mark });
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

test('a version of an earlier release gets a mark once its checkpoint is in the log', async () => {
  const { events, views } = await projected(['one', 'two']);
  const { version } = await views.createVersion(1);
  const view: ViewVersion = await views.open(version);
  await addMark(events, view);
  expect(await view.mark()).toBeUndefined();
  await view.apply({ partition: 2, from: 0n, to: 2n, phases: [] });
  await assertMadeFromLog(events, view);
  await addMark(events, view);
  expect(await view.mark()).toEqual({ position: 2n, event_id: events.log[1]!.id });
  events.log.pop();
  for (const title of ['other', 'more']) await events.push(STREAM as never, 'Happened', { title }, 'store-1');
  await expect(assertMadeFromLog(events, view)).rejects.toBeInstanceOf(LogMismatchError);
});

test('a mismatch is logged when it begins and when it ends, and only then', async () => {
  const { events, views } = await projected(['one', 'two']);
  const lines: { level: number; msg: string }[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const match = new LogMatch({ realm: 'live', events, views, log });
  expect(await match.check()).toBeUndefined();
  const lost = events.log.pop()!;
  for (let n = 0; n < 3; n++) expect(await match.check()).toBeInstanceOf(LogMismatchError);
  await expect(match.assert()).rejects.toBeInstanceOf(LogMismatchError);
  events.log.push(lost);
  for (let n = 0; n < 3; n++) expect(await match.check()).toBeUndefined();
  expect(lines.map(({ level }) => level)).toEqual([50, 30]);
});

test('stores that cannot be reached show no mismatch', async () => {
  const { events, views } = await projected(['one']);
  const match = new LogMatch({ realm: 'live', events, views, log: pino({ level: 'silent' }) });
  events.head = () => Promise.reject(new Error('unreachable'));
  await match.recheckForAppend();
  expect(match.mismatch).toBeUndefined();
  await expect(match.check()).rejects.toThrow('unreachable');
});
