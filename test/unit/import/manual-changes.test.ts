import { createPublication, updatePublication } from '../../../services/command/publication';
import { FieldHistory } from '../../../services/import/manual-changes';
import { streamName } from '../../../shared/catalog/events/envelope';
import { publicationFields } from '../../../shared/catalog/publication/fields';
import { publicationAggregate } from '../../../shared/catalog/publication/publication';
import type { Variant } from '../../../shared/catalog/publication/variants';
import { World } from '../command/support';

test('two variants of one append keep their own prices, also if a page of the history ends between them', async () => {
  const world = new World();
  const by_import = { source: 'import', request_id: 'run' } as const;
  const target = { environment: 'live', store_id: (await world.store()).id } as const;
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1_000 };
  const { id } = (await createPublication(world, by_import, target, tea)).value;
  const place = { environment: 'live', id } as const;
  await updatePublication(world, world.context(), place, { price_amount: 1_200 });
  for (let n = 0; n < 508; n++) await updatePublication(world, world.context(), place, { title: `Tea ${n}` });
  const variants = ['S', 'M'].map((Size) => ({ option_values: { Size } })) as unknown as Variant[];
  await updatePublication(world, by_import, place, { variants });
  const stream = streamName('live', 'publication', id);
  const added = (await world.events.live.readStream(stream)).filter(({ type }) => type === 'VariantAdded');
  expect(added.map(({ revision }) => revision)).toEqual([511, 512]);

  const options = { aggregate: publicationAggregate, fields: publicationFields, source: 'import' } as const;
  const { imported_variants } = await FieldHistory.read(world.events.live, stream, options);
  expect([...imported_variants.values()]).toMatchObject([{ price_amount: 1_200 }, { price_amount: 1_200 }]);
});
