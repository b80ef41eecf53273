import { pino } from 'pino';
import { VIEW_SCHEMA } from '../../projections/engine/versions';
import { verify } from '../../projections/maintenance/verify';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { realSystem } from '../../shared/kernel/system';
import { damage } from '../support/damage';
import { openViews } from '../support/faulty-views';
import { cleanFold, expectSameDocuments, foldBatch, PARTITIONS } from '../support/folding';
import { onPublication, play, publicationId, storeId } from '../support/history';
import { MemoryEventStore } from '../support/memory-event-store';
import { REPAIRED_HISTORY, repairStories } from '../support/repair-stories';

describe('a repair on SQLite', () => repairStories(() => undefined));

test('a repair does not replace a document that a worker writes between its comparison and its write', async () => {
  const events = new MemoryEventStore();
  await play(events, REPAIRED_HISTORY);
  const views = await openViews();
  const version = await views.open((await views.createVersion(VIEW_SCHEMA)).version);
  await views.activate(version.version);
  const partition = partitionOf(storeId(0), PARTITIONS);
  const project = () => foldBatch(version, partition, events.log, BigInt(events.log.length));
  await project();
  for (let other = 0; other < PARTITIONS; other++)
    await foldBatch(version, other, events.log, BigInt(events.log.length));
  // The worker writes the title of this state, which it never corrects, into the body.
  await damage(views, storeId(0), 'publications', publicationId(2), (before) => {
    const { publication } = before!.state as { publication: JsonObject };
    return {
      ...before!,
      state: { ...before!.state, publication: { ...publication, title: 'Changed by hand' } },
    };
  });
  let races = 0;
  version.interleave = async () => {
    if (races === 3) return;
    races++;
    const { interleave } = version;
    version.interleave = async () => {};
    await play(events, [onPublication(2, 'PublicationViewed', { count: 1 })]);
    await project();
    version.interleave = interleave;
  };
  const parts = { realm: 'live', events, views, system: realSystem, log: pino({ level: 'silent' }) } as const;
  expect(await verify({ ...parts, repairs: true })).toMatchObject({ clean: true });
  expect(races).toBe(3);
  const { document } = (await version.get('publications', publicationId(2)))!;
  expect(document!.body).toMatchObject({ title: 'Publication 2', stats: { view_count: 3 } });
  await expectSameDocuments(version, await cleanFold(events.log));
});
