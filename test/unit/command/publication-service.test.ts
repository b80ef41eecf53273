import { createListing, deleteListing } from '../../../services/command/listing';
import { deleteMedia, uploadMedia } from '../../../services/command/media';
import type { NewPublication } from '../../../services/command/publication';
import { createPublication, putPublication, updatePublication } from '../../../services/command/publication';
import { ActiveStores } from '../../../services/command/request';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { CatalogError } from '../../../shared/kernel/errors';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../../shared/kernel/ids';
import { Rounds } from '../../support/rounds';
import { anUpload, errorOf, faultsOf, newId, World } from './support';

const input: NewPublication = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

/** Writes to one store. It need not exist, because only the routes check that. */
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
    return this.world.events.live.log.filter(({ type }) => type !== 'NameReserved').length;
  }
}

describe('a publication', () => {
  test('is created without reading its stream, unless the caller derived the id', async () => {
    const shop = new Shop();
    const { live } = shop.world.events;
    const readStream = live.readStream.bind(live);
    let reads = 0;
    live.readStream = async (...args) => {
      if (!args[0].includes('.name-')) reads++;
      return readStream(...args);
    };
    await shop.create();
    expect(reads).toBe(0);
    const id = newId<PublicationId>();
    await shop.create({ title: 'Mate' }, id);
    expect(reads).toBe(1);
    expect(await shop.create({ title: 'Mate' }, id)).toMatchObject({ changed: false });
    expect(shop.written).toBe(2);
  });

  test('is not written if the guard throws', async () => {
    const shop = new Shop();
    const { value } = await shop.create();
    const guard = (): never => {
      throw new CatalogError('precondition_failed');
    };
    const failure = await errorOf(() => shop.update(value.id, { title: 'X', listing_id: newId() }, guard));
    expect(failure.condition).toBe('precondition_failed');
    expect(shop.written).toBe(1);
  });
});

describe('the calls of a creation to the log, one after the other', () => {
  const named = {
    external_id: 'erp-1',
    handle: 'tea',
    variants: ['S', 'M'].map((Size) => ({ sku: `TEA-${Size}`, option_values: { Size } })),
  };

  test.each([
    ['a handle of its title', {}, 0, 3],
    ['a handle of a title that three others have', {}, 3, 4],
    ['an external id, a handle and two SKUs', named as object, 0, 3],
  ])('with %s', async (_what, body, others, rounds) => {
    const world = new World();
    const { id: store_id } = await world.store();
    const target = { environment: 'live', store_id } as const;
    const create = (body: Partial<NewPublication> = {}) => {
      const guard = () => new ActiveStores(world).require('live', store_id);
      return createPublication(world, world.context(), { ...target, guard }, { ...input, ...body });
    };
    for (let n = 0; n < others; n++) await create();
    const { id: listing_id } = (await createListing(world, world.context(), target, { name: 'Teas' })).value;
    const { id } = (await uploadMedia(world, world.context(), target, anUpload())).value;
    const calls = new Rounds(world.events.live);
    const about = { ...body, listing_id, media_ids: [id] };
    expect(await calls.of(() => create(about))).toMatchObject({ rounds });
  });
});

describe('the references of a publication', () => {
  test('cannot be an unknown or deleted listing, or one of another store', async () => {
    const shop = new Shop();
    const deleted = await shop.listing();
    await deleteListing(shop.world, shop.world.context(), { environment: 'live', id: deleted });
    const { value } = await shop.create();
    for (const listing_id of [newId(), deleted, await shop.listing(newId())]) {
      expect(await faultsOf(() => shop.create({ listing_id }))).toEqual([['field_invalid', 'listing_id']]);
      expect(await faultsOf(() => shop.update(value.id, { listing_id }))).toEqual([
        ['field_invalid', 'listing_id'],
      ]);
    }
  });

  test('report each invalid media by its index', async () => {
    const shop = new Shop();
    const deleted = await shop.media();
    await deleteMedia(shop.world, shop.world.context(), { environment: 'live', id: deleted });
    const media_ids = [await shop.media(), newId(), await shop.media(newId()), deleted];
    expect(await faultsOf(() => shop.create({ media_ids, listing_id: newId() }))).toEqual([
      ['field_invalid', 'listing_id'],
      ['field_invalid', 'media_ids.1'],
      ['field_invalid', 'media_ids.2'],
      ['field_invalid', 'media_ids.3'],
    ]);
  });

  test('are checked for an imported row, too', async () => {
    const shop = new Shop();
    expect(await faultsOf(() => shop.put(newId(), { listing_id: newId() }))).toEqual([
      ['field_invalid', 'listing_id'],
    ]);
  });
});
