import { createListing, deleteListing } from '../../../services/command/listing';
import { deleteMedia, uploadMedia } from '../../../services/command/media';
import type { NewPublication } from '../../../services/command/publication';
import {
  createPublication,
  deletePublication,
  putPublication,
  updatePublication,
} from '../../../services/command/publication';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { CatalogError } from '../../../shared/kernel/errors';
import {
  type ListingId,
  type MediaId,
  type PublicationId,
  parseId,
  type StoreId,
} from '../../../shared/kernel/ids';
import { AT, anUpload, faultsOf, newId, refusal, World } from './support';

const input: NewPublication = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

/** A store to write to; whether it exists is the routes' to ask. */
class Shop {
  readonly world = new World();
  readonly store_id = newId<StoreId>();

  create(body: Partial<NewPublication> = {}, id?: PublicationId) {
    const target = {
      environment: 'live',
      store_id: this.store_id,
      ...(id === undefined ? {} : { id }),
    } as const;
    return createPublication(this.world, this.world.context(), target, { ...input, ...body });
  }

  update(id: PublicationId, changes: Partial<NewPublication>, guard?: (publication: Publication) => void) {
    const target = { environment: 'live', id, ...(guard === undefined ? {} : { guard }) } as const;
    const { store_id, ...rest } = changes;
    const patch = typeof store_id === 'string' ? { ...rest, store_id } : rest;
    return updatePublication(this.world, this.world.context(), target, patch);
  }

  delete(id: PublicationId) {
    return deletePublication(this.world, this.world.context(), { environment: 'live', id });
  }

  put(id: PublicationId, body: Partial<NewPublication> = {}) {
    const target = { environment: 'live', store_id: this.store_id, id } as const;
    return putPublication(this.world, this.world.context(), target, { ...input, ...body });
  }

  async listing(store_id: StoreId = this.store_id): Promise<ListingId> {
    const target = { environment: 'live', store_id } as const;
    return (await createListing(this.world, this.world.context(), target, { name: 'Teas' })).value.id;
  }

  async media(store_id: StoreId = this.store_id): Promise<MediaId> {
    const target = { environment: 'live', store_id } as const;
    return (await uploadMedia(this.world, this.world.context(), target, anUpload())).value.id;
  }

  get written(): number {
    return this.world.events.live.log.length;
  }
}

describe('a publication', () => {
  test('is appended without a look at its stream, unless its id was derived and may be there already', async () => {
    const shop = new Shop();
    const { live } = shop.world.events;
    const readStream = live.readStream.bind(live);
    let reads = 0;
    live.readStream = async (...asked) => {
      reads++;
      return readStream(...asked);
    };
    await shop.create();
    expect(reads).toBe(0);
    const id = newId<PublicationId>();
    await shop.create({}, id);
    expect(reads).toBe(1);
    expect(await shop.create({}, id)).toMatchObject({ changed: false });
    expect(live.log).toHaveLength(2);
  });

  test('is created under a new id with the time of its event, and is lane by store', async () => {
    const shop = new Shop();
    const { value } = await shop.create({ title: 'Green tea' });
    expect(parseId(value.id)).toBe(value.id);
    expect(value).toMatchObject({ title: 'Green tea', version: 1, created_at: AT, updated_at: AT });
    expect(shop.world.events.live.log[0]?.metadata.partition_key).toBe(shop.store_id);
  });

  test('is created once under an id that is given', async () => {
    const shop = new Shop();
    const id = newId<PublicationId>();
    await shop.create({}, id);
    expect(await shop.create({}, id)).toMatchObject({ changed: false });
    expect(shop.written).toBe(1);
  });

  test('is updated later than it was created', async () => {
    const shop = new Shop();
    const { value } = await shop.create();
    shop.world.now_ms += 60_000;
    const updated = await shop.update(value.id, { title: 'Black tea' });
    expect(updated.value).toMatchObject({
      version: 2,
      created_at: AT,
      updated_at: '2026-01-31T12:01:00.000Z',
    });
  });

  test('may be told its own store again, and no other', async () => {
    const shop = new Shop();
    const { value } = await shop.create();
    expect(await shop.update(value.id, { store_id: shop.store_id })).toMatchObject({ changed: false });
    expect(await faultsOf(() => shop.update(value.id, { store_id: newId() }))).toEqual([
      ['field_invalid', 'store_id'],
    ]);
  });

  test('that is deleted tells whose it was, and is gone for every write', async () => {
    const shop = new Shop();
    const { value } = await shop.create();
    expect((await shop.delete(value.id)).value).toBe(shop.store_id);
    expect((await refusal(() => shop.delete(value.id))).condition).toBe('publication_not_found');
    expect((await refusal(() => shop.update(value.id, {}))).condition).toBe('publication_not_found');
  });

  test('is guarded before anything is written', async () => {
    const shop = new Shop();
    const { value } = await shop.create();
    const guard = (): never => {
      throw new CatalogError('precondition_failed');
    };
    const failure = await refusal(() => shop.update(value.id, { title: 'X', listing_id: newId() }, guard));
    expect(failure.condition).toBe('precondition_failed');
    expect(shop.written).toBe(1);
  });
});

describe('what a publication refers to', () => {
  test('may be a listing and media of its store', async () => {
    const shop = new Shop();
    const references = {
      listing_id: await shop.listing(),
      media_ids: [await shop.media(), await shop.media()],
    };
    const { value } = await shop.create(references);
    expect(value).toMatchObject(references);
    expect(await shop.update(value.id, references)).toMatchObject({ changed: false });
  });

  test("may be no unknown listing, no deleted one, no other store's", async () => {
    const shop = new Shop();
    const gone = await shop.listing();
    await deleteListing(shop.world, shop.world.context(), { environment: 'live', id: gone });
    const { value } = await shop.create();
    for (const listing_id of [newId(), gone, await shop.listing(newId())]) {
      expect(await faultsOf(() => shop.create({ listing_id }))).toEqual([['field_invalid', 'listing_id']]);
      expect(await faultsOf(() => shop.update(value.id, { listing_id }))).toEqual([
        ['field_invalid', 'listing_id'],
      ]);
    }
  });

  test('names each media that cannot be, by its place', async () => {
    const shop = new Shop();
    const gone = await shop.media();
    await deleteMedia(shop.world, shop.world.context(), { environment: 'live', id: gone });
    const media_ids = [await shop.media(), newId(), await shop.media(newId()), gone];
    expect(await faultsOf(() => shop.create({ media_ids, listing_id: newId() }))).toEqual([
      ['field_invalid', 'listing_id'],
      ['field_invalid', 'media_ids.1'],
      ['field_invalid', 'media_ids.2'],
      ['field_invalid', 'media_ids.3'],
    ]);
  });
});

describe('a row that is imported', () => {
  test('creates, then changes nothing, then patches, then leaves what was deleted', async () => {
    const shop = new Shop();
    const id = newId<PublicationId>();
    expect(await shop.put(id)).toMatchObject({ outcome: 'created', value: { id } });
    expect(await shop.put(id)).toMatchObject({ outcome: 'unchanged' });
    expect(await shop.put(id, { price_amount: 1 })).toMatchObject({ outcome: 'updated' });
    await shop.delete(id);
    expect(await shop.put(id)).toEqual({ outcome: 'deleted' });
    expect(shop.written).toBe(3);
  });

  test('is refused like any other where it refers to nothing', async () => {
    const shop = new Shop();
    expect(await faultsOf(() => shop.put(newId(), { listing_id: newId() }))).toEqual([
      ['field_invalid', 'listing_id'],
    ]);
  });
});
