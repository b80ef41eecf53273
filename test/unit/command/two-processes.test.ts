import { openEventStore } from '../../../services/boot/open-adapters';
import { execute } from '../../../services/command/execute';
import { streamName } from '../../../shared/catalog/events/envelope';
import { decidePublication, publicationAggregate } from '../../../shared/catalog/publication/publication';
import { parseConfig } from '../../../shared/kernel/config';
import type { CatalogError } from '../../../shared/kernel/errors';
import type { PublicationId } from '../../../shared/kernel/ids';
import type { EventStore } from '../../../shared/ports/event-store';
import { withTempDir } from '../../support/temp-dir';
import { newId, World } from './support';

const WRITES = 60;

test('two connections write to one stream: it has exactly the acknowledged writes, in one order', async () => {
  await withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder });
    const logs: [EventStore, EventStore] = [
      await openEventStore(config, 'live'),
      await openEventStore(config, 'live'),
    ];
    const world = new World();
    const ref = { aggregate: publicationAggregate, realm: 'live', id: newId<PublicationId>() } as const;
    const write = (events: EventStore, command: Parameters<typeof decidePublication>[1]) =>
      execute({
        ...ref,
        events,
        system: world.system,
        context: world.context(),
        decide: (state) => decidePublication(state, command),
      });

    const input = { title: 'Tea', price_currency: 'USD', price_amount: 0 };
    await write(logs[0], { type: 'CreatePublication', store_id: newId(), input });
    const prices = Array.from({ length: WRITES }, (_, index) => index + 1);
    const answers = await Promise.allSettled(
      prices.map((price_amount) =>
        write(logs[price_amount % 2 === 0 ? 0 : 1], { type: 'UpdatePublication', changes: { price_amount } }),
      ),
    );

    const acknowledged: number[] = [];
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 'fulfilled') acknowledged.push(prices[index]!);
      else expect((answer.reason as CatalogError).condition).toBe('lost_race');
    }
    const recorded = await logs[1].readStream(streamName('live', 'publication', ref.id));
    const stored = recorded.slice(1).map((event) => Number(event.data.price_amount));
    expect(stored.toSorted((a, b) => a - b)).toEqual(acknowledged);
    expect(recorded.map((event) => event.revision)).toEqual(recorded.map((_, index) => index));
    expect(acknowledged.length).toBeGreaterThan(WRITES / 4);
    await Promise.all(logs.map((log) => log.close()));
  });
});
