import { openEventStore } from '../../../services/boot/open-adapters';
import { execute } from '../../../services/command/execute';
import { type CountedPageViews, PageViewLog } from '../../../services/command/page-views';
import { streamName } from '../../../shared/catalog/events/envelope';
import { pageViewStream } from '../../../shared/catalog/publication/page-views';
import {
  type PublicationCommand,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import { type Variant, variantId } from '../../../shared/catalog/publication/variants';
import { parseConfig } from '../../../shared/kernel/config';
import type { CatalogError } from '../../../shared/kernel/errors';
import type { PublicationId, StoreId } from '../../../shared/kernel/ids';
import type { EventStore } from '../../../shared/ports/event-store';
import { withTempDir } from '../../support/temp-dir';
import { NOW_MS, newId, World } from './support';

const WRITES = 60;

test('two connections append page views to one stream: each batch is stored once', async () => {
  await withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder });
    const logs = [await openEventStore(config, 'live'), await openEventStore(config, 'live')];
    const store_id = newId<StoreId>();
    const tea = newId<PublicationId>();
    const batches = Array.from({ length: WRITES }, () => ({
      ...{ id: newId(), environment: 'live', store_id, counted_at_ms: NOW_MS, counts: { [tea]: 1 } },
    })) satisfies CountedPageViews[];
    await Promise.all(
      logs.map(async (log, process) => {
        const page_views = new PageViewLog({ events: { live: log, test: log } });
        // On a busy machine, one process may lose every race of an append.
        const append = (batch: CountedPageViews): Promise<void> =>
          page_views.append(batch).catch((error: CatalogError) => {
            if (error.condition !== 'lost_race') throw error;
            return append(batch);
          });
        for (const [index, batch] of batches.entries()) if (index % 2 === process) await append(batch);
      }),
    );
    const recorded = await logs[0]!.readStream(pageViewStream('live', store_id, NOW_MS));
    expect(recorded.map(({ id }) => id).sort()).toEqual(batches.map(({ id }) => id).sort());
    await Promise.all(logs.map((log) => log.close()));
  });
});

test('two connections sell the same variant: every acknowledged sale counts, and no more than there are', async () => {
  await withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder });
    const logs = [await openEventStore(config, 'live'), await openEventStore(config, 'live')] as const;
    const world = new World();
    const id = newId<PublicationId>();
    const ref = { aggregate: publicationAggregate, realm: 'live', id } as const;
    const write = (events: EventStore, command: PublicationCommand) =>
      execute({
        ...ref,
        events,
        system: world.system,
        context: world.context(),
        prepare: () => ({ command }),
      });
    const stock = WRITES / 2;
    const input = { title: 'Tee', price_currency: 'USD', price_amount: 0 };
    const variants = [{ quantity_available: stock }] as unknown as Variant[];
    await write(logs[0], { type: 'Create', store_id: newId(), id, input: { ...input, variants } });
    const variant_id = variantId(id, 0, 0);
    const sale = { type: 'ChangeVariant', variant_id, changes: {}, adjust: -1 } as const;
    // Each sells one after the other, so that both race for each revision.
    const conditions = await Promise.all(
      logs.map(async (log) => {
        const answers: string[] = [];
        for (let n = 0; n < WRITES; n++)
          answers.push(
            await write(log, sale).then(
              () => 'sold',
              (error: CatalogError) => error.condition,
            ),
          );
        return answers;
      }),
    );
    const sold = conditions.flat().filter((condition) => condition === 'sold').length;
    expect(new Set(conditions.flat())).not.toContain('internal');
    const left = stock - sold;
    const recorded = await logs[1].readStream(streamName('live', 'publication', id));
    expect(recorded).toHaveLength(1 + sold);
    expect(recorded.at(-1)!.data.variant).toMatchObject({ quantity_available: left });
    expect(left).toBe(0);
    await Promise.all(logs.map((log) => log.close()));
  });
});

test('two connections write to one stream: it has exactly the acknowledged writes, in one order', async () => {
  await withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder });
    const logs: [EventStore, EventStore] = [
      await openEventStore(config, 'live'),
      await openEventStore(config, 'live'),
    ];
    const world = new World();
    const ref = { aggregate: publicationAggregate, realm: 'live', id: newId<PublicationId>() } as const;
    const write = (events: EventStore, command: PublicationCommand) =>
      execute({
        ...ref,
        events,
        system: world.system,
        context: world.context(),
        prepare: () => ({ command }),
      });

    const input = { title: 'Tea', price_currency: 'USD', price_amount: 0 };
    await write(logs[0], { type: 'Create', store_id: newId(), input });
    const prices = Array.from({ length: WRITES }, (_, index) => index + 1);
    const answers = await Promise.allSettled(
      prices.map((price_amount) =>
        write(logs[price_amount % 2 === 0 ? 0 : 1], { type: 'Update', changes: { price_amount } }),
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
