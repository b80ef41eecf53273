import { createListing } from '../../../services/command/listing';
import { attach, checkAttachments, uploadMedia } from '../../../services/command/media';
import { createPublication, findPublication } from '../../../services/command/publication';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../../shared/kernel/ids';
import { anUpload, errorOf, faultsOf, NOW_MS, newId, World } from './support';

const store_id = newId<StoreId>();
const target = { environment: 'live', store_id } as const;
const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1 };

const upload = async (world: World): Promise<MediaId> =>
  (await uploadMedia(world, world.context(), target, anUpload())).value.id;

describe('adding an upload to a publication and a listing', () => {
  test('adds it to both, and a repetition changes nothing', async () => {
    const world = new World();
    const publication = (await createPublication(world, world.context(), target, tea)).value;
    const listing = (await createListing(world, world.context(), target, { name: 'Teas' })).value;
    const to = { publication_id: publication.id, listing_id: listing.id };
    await checkAttachments(world, 'live', store_id, to);
    const media_id = await upload(world);
    const first = await attach(world, world.context(), 'live', media_id, to);
    expect(first.map(({ changed }) => changed)).toEqual([true, true]);
    const again = await attach(world, world.context(), 'live', media_id, to);
    expect(again.map(({ changed }) => changed)).toEqual([false, false]);
    expect(await findPublication(world, 'live', publication.id)).toMatchObject({ media_ids: [media_id] });
  });

  test('an upload that was interrupted before is completed by a retry of the same operation', async () => {
    const world = new World();
    const publication = (await createPublication(world, world.context(), target, tea)).value;
    const to = { publication_id: publication.id };
    const operation = { id: newId(), started_at_ms: NOW_MS, resumed: false };
    const first = await uploadMedia(world, { ...world.context(), operation }, target, anUpload());
    const resumed = { ...world.context(), operation: { ...operation, resumed: true } };
    const guard = () => Promise.reject(new Error('the guard must not run again'));
    const again = await uploadMedia(world, resumed, { ...target, guard }, anUpload());
    expect(again).toMatchObject({ repeated: true, value: { id: first.value.id } });
    await attach(world, resumed, 'live', again.value.id, to);
    await attach(world, resumed, 'live', again.value.id, to);
    expect(await findPublication(world, 'live', publication.id)).toMatchObject({
      media_ids: [first.value.id],
      version: 2,
    });
  });

  test('reports every target that does not exist before anything is written', async () => {
    const world = new World();
    const to = { publication_id: newId<PublicationId>(), listing_id: newId<ListingId>() };
    expect(await faultsOf(() => checkAttachments(world, 'live', store_id, to))).toEqual([
      ['field_invalid', 'publication_id'],
      ['field_invalid', 'listing_id'],
    ]);
  });

  test('throws lost_race with the id of the uploaded media if the target is missing after the upload', async () => {
    const world = new World();
    const media_id = await upload(world);
    const publication_id = newId<PublicationId>();
    const error = await errorOf(() => attach(world, world.context(), 'live', media_id, { publication_id }));
    expect(error.condition).toBe('lost_race');
    expect(error.message).toContain(`uploaded as media ${media_id}`);
    expect(error.message).toContain(`publication ${publication_id}`);
  });
});
