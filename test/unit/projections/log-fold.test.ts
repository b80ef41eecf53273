import { LogFold } from '../../../projections/maintenance/log-fold';
import { openVersion } from '../../support/faulty-views';
import { cleanFold, expectSameDocuments, now, PARTITIONS } from '../../support/folding';
import { onPublication, play, publicationCreated, storeCreated } from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';

test('a fold reads on only from a position that an event has', async () => {
  const events = new MemoryEventStore();
  await play(events, [
    storeCreated(0),
    publicationCreated(0),
    onPublication(0, 'PublicationViewed', { count: 1 }),
    publicationCreated(1),
  ]);
  const subscribe = jest.spyOn(events, 'subscribe');
  const version = await openVersion();
  const fold = await LogFold.open({
    ...{ version, partition_count: PARTITIONS, events, now, poison: 'throw' },
  });
  const everywhere = (position: bigint) => Array.from({ length: PARTITIONS }, () => position);
  await fold.advance({ to: everywhere(2n) });
  await fold.advance({ to: everywhere(3n), is_inexact: true });
  await fold.advance({ to: everywhere(4n) });
  expect(subscribe.mock.calls.map(([{ after }]) => after)).toEqual([0n, 2n, 2n]);
  await expectSameDocuments(version, await cleanFold(events.log));
});
