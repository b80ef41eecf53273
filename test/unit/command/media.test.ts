import { attach, deleteMedia, recordResult, uploadMedia } from '../../../services/command/media';
import { createPublication, findPublication } from '../../../services/command/publication';
import { existingMedia, findMedia } from '../../../services/command/references';
import type { MediaId, PublicationId, StoreId } from '../../../shared/kernel/ids';
import { anUpload, errorOf, NOW_MS, newId, somePictures, World } from './support';

const store_id = newId<StoreId>();
const target = { environment: 'live', store_id } as const;
describe('the media service', () => {
  const world = new World();
  const upload = async () =>
    (await uploadMedia(world, world.context(), { environment: 'live', store_id }, anUpload())).value;

  test('finds the media of an environment in its log, without deleted ones', async () => {
    const { id } = await upload();
    expect(await findMedia(world, 'live', id)).toMatchObject({
      store_id,
      progress: { status: 'processing' },
    });
    expect(await findMedia(world, 'test', id)).toBeUndefined();
    const deleted = await upload();
    await deleteMedia(world, world.context(), { environment: 'live', id: deleted.id });
    expect(await existingMedia(world, 'live', [deleted.id, newId<MediaId>(), id])).toEqual([id]);
  });

  test('records the result of a worker only once', async () => {
    const { id } = await upload();
    const ready = { type: 'RecordPictures', pictures: somePictures() } as const;
    const failed = { type: 'RecordFailure', reason: 'damaged' } as const;
    const record = async (result: typeof ready | typeof failed) =>
      (await recordResult(world, world.context(), 'live', id, result)).changed;
    expect([await record(ready), await record(ready), await record(failed)]).toEqual([true, false, false]);
  });

  test('deletes nothing if the guard throws', async () => {
    const { id } = await upload();
    const guard = () => Promise.reject(new Error('not yours'));
    const removing = deleteMedia(world, world.context(), { environment: 'live', id, guard });
    await expect(removing).rejects.toThrow('not yours');
    expect(await findMedia(world, 'live', id)).toBeDefined();
    const unknown = { environment: 'live', id: newId<MediaId>() } as const;
    expect((await errorOf(() => deleteMedia(world, world.context(), unknown))).condition).toBe(
      'media_not_found',
    );
  });
});

describe('adding an upload to a publication and a listing', () => {
  test('an upload that was interrupted before is completed by a retry of the same operation', async () => {
    const world = new World();
    const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1 };
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

  test('throws lost_race with the id of the uploaded media if the target is missing after the upload', async () => {
    const world = new World();
    const media_id = newId<MediaId>();
    const publication_id = newId<PublicationId>();
    const error = await errorOf(() => attach(world, world.context(), 'live', media_id, { publication_id }));
    expect(error.condition).toBe('lost_race');
    expect(error.message).toContain(`uploaded as media ${media_id}`);
    expect(error.message).toContain(`publication ${publication_id}`);
  });
});
