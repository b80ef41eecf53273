import { createListing, deleteListing, putListing, updateListing } from '../../../services/command/listing';
import type { ListingId, StoreId } from '../../../shared/kernel/ids';
import { AT, errorOf, faultsOf, newId, World } from './support';

const store_id = newId<StoreId>();

describe('a listing', () => {
  test('can be created, updated and deleted', async () => {
    const world = new World();
    const created = await createListing(
      world,
      world.context(),
      { environment: 'test', store_id },
      { name: 'Teas' },
    );
    expect(created.value).toMatchObject({ name: 'Teas', store_id, version: 1, created_at: AT });
    const target = { environment: 'test', id: created.value.id } as const;
    const updated = await updateListing(world, world.context(), target, { visibility: 'private' });
    expect(updated.value).toMatchObject({ visibility: 'private', version: 2 });
    expect((await deleteListing(world, world.context(), target)).value).toBe(store_id);
    expect((await errorOf(() => updateListing(world, world.context(), target, {}))).condition).toBe(
      'listing_not_found',
    );
  });

  test('can only refer to media of its store, and cannot change its store', async () => {
    const world = new World();
    const new_target = { environment: 'live', store_id } as const;
    const media_ids = [newId()];
    const create = () => createListing(world, world.context(), new_target, { name: 'Teas', media_ids });
    expect(await faultsOf(create)).toEqual([['field_invalid', 'media_ids.0']]);
    const { value } = await createListing(world, world.context(), new_target, { name: 'Teas' });
    const target = { environment: 'live', id: value.id } as const;
    const update = (changes: Parameters<typeof updateListing>[3]) =>
      updateListing(world, world.context(), target, changes);
    expect(await faultsOf(() => update({ media_ids }))).toEqual([['field_invalid', 'media_ids.0']]);
    expect(await faultsOf(() => update({ store_id: newId() }))).toEqual([['field_invalid', 'store_id']]);
  });

  test('is created by an import, unchanged by a repetition, patched, and not restored after its deletion', async () => {
    const world = new World();
    const target = { environment: 'live', store_id, id: newId<ListingId>() } as const;
    const put = async (name: string) => (await putListing(world, world.context(), target, { name })).outcome;
    expect([await put('Teas'), await put('Teas'), await put('Herbs')]).toEqual([
      'created',
      'unchanged',
      'updated',
    ]);
    await deleteListing(world, world.context(), target);
    expect(await put('Herbs')).toBe('deleted');
    expect(world.events.live.log).toHaveLength(3);
  });
});
