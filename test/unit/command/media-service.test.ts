import { deleteMedia, recordFailure, recordPictures, uploadMedia } from '../../../services/command/media';
import { existingMedia, findMedia } from '../../../services/command/references';
import type { MediaEvent } from '../../../shared/catalog/media/media';
import { decideMedia, mediaAggregate } from '../../../shared/catalog/media/media';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { anUpload, newId, refusal, somePictures, teller, World } from './support';

const store_id = newId<StoreId>();
const uploaded: MediaEvent = { type: 'MediaUploaded', data: { store_id, ...anUpload() } };
const processed: MediaEvent = { type: 'MediaProcessed', data: somePictures() };
const failed: MediaEvent = { type: 'MediaFailed', data: { reason: 'damaged' } };
const deleted: MediaEvent = { type: 'MediaDeleted', data: {} };

const { fold, outcome } = teller(mediaAggregate, decideMedia, newId<MediaId>());
const record = { type: 'RecordPictures', pictures: somePictures() } as const;
const fail = { type: 'RecordFailure', reason: 'damaged' } as const;

describe('a media', () => {
  test('is uploaded once', () => {
    const upload = { type: 'UploadMedia', upload: { store_id, ...anUpload() } } as const;
    expect(outcome([], upload)).toEqual([uploaded]);
    expect(outcome([uploaded], upload)).toBe('lost_race');
    expect(outcome([uploaded, deleted], upload)).toBe('lost_race');
  });

  test('gets its pictures, or fails, while it is processing', () => {
    expect(outcome([uploaded], record)).toEqual([processed]);
    expect(outcome([uploaded], fail)).toEqual([failed]);
  });

  test.each([[[]], [[uploaded, processed]], [[uploaded, failed]], [[uploaded, deleted]]])(
    'after anything else, %#, what a worker brings is let go',
    (given: MediaEvent[]) => {
      expect(outcome(given, record)).toEqual([]);
      expect(outcome(given, fail)).toEqual([]);
    },
  );

  test('is deleted once, whatever became of it', () => {
    const remove = { type: 'DeleteMedia' } as const;
    expect(outcome([uploaded], remove)).toEqual([deleted]);
    expect(outcome([uploaded, processed], remove)).toEqual([deleted]);
    expect(outcome([uploaded, deleted], remove)).toBe('media_not_found');
    expect(outcome([], remove)).toBe('media_not_found');
  });

  test('counts versions, and has the pictures when it is ready', () => {
    expect(fold([uploaded, processed])).toMatchObject({
      media: { version: 2, progress: { status: 'ready', pictures: somePictures() }, size_bytes: 1000 },
    });
  });
});

describe('the service', () => {
  const world = new World();
  const upload = async () =>
    (await uploadMedia(world, world.context(), { environment: 'live', store_id }, anUpload())).value;

  test('tells its own media from those of others by the log', async () => {
    const { id } = await upload();
    expect(await findMedia(world, 'live', id)).toMatchObject({
      store_id,
      progress: { status: 'processing' },
    });
    expect(await findMedia(world, 'test', id)).toBeUndefined();
    const gone = await upload();
    await deleteMedia(world, world.context(), { environment: 'live', id: gone.id });
    expect(await existingMedia(world, 'live', [gone.id, newId<MediaId>(), id])).toEqual([id]);
  });

  test('writes what a worker brings once', async () => {
    const { id } = await upload();
    expect(await recordPictures(world, world.context(), 'live', id, somePictures())).toMatchObject({
      changed: true,
    });
    const before = world.events.live.log.length;
    expect(await recordPictures(world, world.context(), 'live', id, somePictures())).toMatchObject({
      changed: false,
    });
    expect(await recordFailure(world, world.context(), 'live', id, 'damaged')).toMatchObject({
      changed: false,
    });
    expect(world.events.live.log).toHaveLength(before);
  });

  test('deletes nothing that its guard refuses', async () => {
    const { id } = await upload();
    const guard = () => Promise.reject(new Error('not yours'));
    const removing = deleteMedia(world, world.context(), { environment: 'live', id, guard });
    await expect(removing).rejects.toThrow('not yours');
    expect(await findMedia(world, 'live', id)).toBeDefined();
    const unknown = { environment: 'live', id: newId<MediaId>() } as const;
    expect((await refusal(() => deleteMedia(world, world.context(), unknown))).condition).toBe(
      'media_not_found',
    );
  });
});
