import { deleteMedia, recordResult, uploadMedia } from '../../../services/command/media';
import { existingMedia, findMedia } from '../../../services/command/references';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { anUpload, errorOf, newId, somePictures, World } from './support';

const store_id = newId<StoreId>();
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
