import { deleteMedia, recordResult, uploadMedia } from '../../../services/command/media';
import { existingMedia, findMedia } from '../../../services/command/references';
import type { MediaEvent } from '../../../shared/catalog/media/media';
import { mediaAggregate } from '../../../shared/catalog/media/media';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { anUpload, deciderSpec, errorOf, newId, somePictures, World } from './support';

const store_id = newId<StoreId>();
const uploaded: MediaEvent = { type: 'MediaUploaded', data: { store_id, ...anUpload() } };
const processed: MediaEvent = { type: 'MediaProcessed', data: somePictures() };
const failed: MediaEvent = { type: 'MediaFailed', data: { reason: 'damaged' } };
const deleted: MediaEvent = { type: 'MediaDeleted', data: {} };

const given = deciderSpec(mediaAggregate, newId<MediaId>());
const record = { type: 'RecordPictures', pictures: somePictures() } as const;
const fail = { type: 'RecordFailure', reason: 'damaged' } as const;

describe('a media', () => {
  test('is uploaded only once', () => {
    const upload = { type: 'UploadMedia', upload: { store_id, ...anUpload() } } as const;
    given([]).when(upload).thenAppends([uploaded]);
    given([uploaded]).when(upload).thenRejects('lost_race');
    given([uploaded, deleted]).when(upload).thenRejects('lost_race');
  });

  test('becomes ready or failed while it is processing', () => {
    given([uploaded]).when(record).thenAppends([processed]);
    given([uploaded]).when(fail).thenAppends([failed]);
  });

  test.each([[[]], [[uploaded, processed]], [[uploaded, failed]], [[uploaded, deleted]]])(
    'ignores the result of a worker in any other state (case %#)',
    (events: MediaEvent[]) => {
      given(events).when(record).thenAppendsNothing();
      given(events).when(fail).thenAppendsNothing();
    },
  );

  test('is deleted once, in any state', () => {
    const remove = { type: 'Delete' } as const;
    given([uploaded]).when(remove).thenAppends([deleted]);
    given([uploaded, processed]).when(remove).thenAppends([deleted]);
    given([uploaded, deleted]).when(remove).thenRejects('media_not_found');
    given([]).when(remove).thenRejects('media_not_found');
  });

  test('counts versions, and has pictures when it is ready', () => {
    expect(given([uploaded, processed]).state).toMatchObject({
      resource: { version: 2, progress: { status: 'ready', pictures: somePictures() }, size_bytes: 1000 },
    });
  });
});

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
