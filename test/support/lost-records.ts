import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import { expectError } from '../api/replies';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from './harness';
import { breakNextAppend } from './idempotent';
import type { OwnNames } from './own-servers';
import { flatPicture } from './pictures';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

/** The service, and a function that deletes all idempotency records while it runs. */
export interface ForgetfulService {
  readonly servers?: OwnNames;
  lose(harness: Harness): Promise<void>;
  dispose?(): Promise<void>;
}

/** Stories about repeated requests after the idempotency store has lost its records. Runs with any such store. */
export function lostRecordsStories(name: string, open: () => Promise<ForgetfulService>): void {
  describe(`a write with an Idempotency-Key whose record ${name} has lost`, () => {
    let service: ForgetfulService;
    let harness: Harness;
    let shop: Shop;
    let token: string;
    let ahead_ms = 0;
    let keys = 0;

    beforeAll(async () => {
      service = await open();
      const system = { ...realSystem, now: () => Date.now() + ahead_ms };
      const { servers } = service;
      harness = await startHarness({ system, ...(servers && { servers }) });
      shop = await harness.newShop();
    });
    beforeEach(async () => {
      ahead_ms = 0;
      token = shop.secret.token;
    });
    afterAll(async () => {
      await harness?.close();
      await service?.dispose?.();
    });

    const newKey = (): string => `key-${++keys}`;
    const lose = (): Promise<void> => service.lose(harness);
    const send = (method: string, path: string, key: string, options: RequestOptions = {}): Promise<Reply> =>
      harness.request(method, path, { token, ...options, headers: { 'idempotency-key': key } });
    const post = (key: string, body: unknown = TEA) => send('POST', '/api/publication', key, { body });
    const eventsOf = async (id: string): Promise<string[]> => {
      const events = await harness.service.runtime.events.live.readStream(
        streamName('live', 'publication', id),
      );
      return events.map(({ type }) => type);
    };
    const count = async (path: string): Promise<number> => {
      await harness.settled();
      return (await harness.request('GET', `${path}?visibility=all`, { token })).body.meta.item_count;
    };
    /** Moves the clock, and requests a token that is valid then. */
    const setClock = async (to_ms: number): Promise<void> => {
      ahead_ms = to_ms - Date.now();
      token = await harness.token(shop.secret.key);
    };
    const expectReplay = (first: Reply, again: Reply): void => {
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      for (const header of ['location', 'etag', 'x-catalog-position'])
        expect([header, again.headers.get(header)]).toEqual([header, first.headers.get(header)]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    };

    test('a publication, a listing and an upload are created once, and the answer is the same', async () => {
      const picture = new Blob([new Uint8Array(await flatPicture('png', { width: 30, height: 20 }))], {
        type: 'image/png',
      });
      const { id } = (await post(newKey())).body.data;
      const requests: [path: string, list: string, body: unknown][] = [
        ['/api/publication', '/api/publications', TEA],
        ['/api/listing', '/api/listings', { name: 'Teas' }],
        [`/api/media?publication_id=${id}`, '/api/media', picture],
      ];
      for (const [path, list, body] of requests) {
        const key = newKey();
        const first = await send('POST', path, key, { body });
        expect([path, first.status]).toEqual([path, 201]);
        const before = await count(list);
        await lose();
        expectReplay(first, await send('POST', path, key, { body }));
        expectReplay(first, await send('POST', path, key, { body }));
        await lose();
        expectReplay(first, await send('POST', path, key, { body }));
        expect([list, await count(list)]).toEqual([list, before]);
      }
      expect(await eventsOf(id)).toEqual(['PublicationCreated', 'PublicationMediaArranged']);
    });

    test('a change and a deletion are done once, also when others have changed the resource since', async () => {
      const { id } = (await post(newKey())).body.data;
      const path = `/api/publication/${id}`;
      const [change, remove] = [newKey(), newKey()];
      const changed = await send('PATCH', path, change, { body: { price_amount: 1 } });
      for (const price_amount of [2, 3])
        await harness.request('PATCH', path, { token, body: { price_amount } });
      await lose();
      expectReplay(changed, await send('PATCH', path, change, { body: { price_amount: 1 } }));
      const deleted = await send('DELETE', path, remove);
      await lose();
      expectReplay(deleted, await send('DELETE', path, remove));
      expect(await eventsOf(id)).toEqual([
        ...['PublicationCreated', 'PublicationPriced', 'PublicationPriced', 'PublicationPriced'],
        'PublicationDeleted',
      ]);
    });

    test('a revert and a restoration are done once, also if the publication was deleted since', async () => {
      const created = await post(newKey());
      const path = `/api/publication/${created.body.data.id}`;
      const change = (price_amount: number) =>
        harness.request('PATCH', path, { token, body: { price_amount } });
      const remove = () => harness.request('DELETE', path, { token });
      await change(1);
      const etag = (await change(2)).headers.get('etag')!;
      const [revert_key, restore_key] = [newKey(), newKey()];
      const revert = () =>
        harness.request('POST', `${path}/revert`, {
          ...{ token, body: { revision: 1 } },
          headers: { 'idempotency-key': revert_key, 'if-match': etag },
        });
      const reverted = await revert();
      expect([reverted.status, reverted.body.data.price_amount]).toEqual([200, TEA.price_amount]);
      await change(3);
      await lose();
      expectReplay(reverted, await revert());
      await remove();
      await lose();
      expectReplay(reverted, await revert());
      const restored = await send('POST', `${path}/restore`, restore_key);
      expect(restored.status).toBe(200);
      await remove();
      await lose();
      expectReplay(restored, await send('POST', `${path}/restore`, restore_key));
    });

    test('a featured order is set once, also if others have changed it or the listing since', async () => {
      const listing = await harness.request('POST', '/api/listing', { token, body: { name: 'Teas' } });
      const { id: listing_id } = listing.body.data;
      const path = `/api/listing/${listing_id}`;
      const create = async (title: string): Promise<string> =>
        (await post(newKey(), { ...TEA, title, listing_id, featured_position: 1 })).body.data.id;
      const [green, black] = [await create('Green tea'), await create('Black tea')];
      await harness.settled();
      const key = newKey();
      const arrange = () =>
        harness.request('POST', `${path}/featured`, {
          ...{ token, body: { publication_ids: [green] } },
          headers: { 'idempotency-key': key, 'if-match': listing.headers.get('etag')! },
        });
      const first = await arrange();
      // The other one is not featured any more.
      expect([first.status, first.body.data.changed_count]).toEqual([200, 1]);
      await harness.request('POST', `${path}/featured`, { token, body: { publication_ids: [black, green] } });
      await harness.request('PATCH', path, { token, body: { name: 'Tea' } });
      const before = await eventsOf(green);
      await lose();
      expectReplay(first, await arrange());
      await harness.request('PATCH', `/api/publication/${green}`, { token, body: { listing_id: null } });
      await harness.request('DELETE', path, { token });
      await lose();
      expectReplay(first, await arrange());
      const { body } = await harness.request('GET', `/api/publication/${black}`, { token });
      expect(body.data.featured_position).toBe(1);
      expect(await eventsOf(green)).toEqual([...before, 'PublicationMovedToListing']);
    });

    test('a put is done once, also if its resource was deleted since', async () => {
      const path = '/api/publication/by-external-id/ERP-7';
      const [created_by, changed_by] = [newKey(), newKey()];
      const create = () => send('PUT', path, created_by, { body: TEA });
      const change = () => send('PUT', path, changed_by, { body: { ...TEA, title: 'Green tea' } });
      const [created, changed] = [await create(), await change()];
      expect([created.status, changed.status]).toEqual([201, 200]);
      const { id } = created.body.data;
      await harness.request('DELETE', `/api/publication/${id}`, { token });
      const before = await count('/api/publications');
      await lose();
      expectReplay(created, await create());
      expectReplay(changed, await change());
      expect(await count('/api/publications')).toBe(before);
    });

    test('a deletion by external id is done once', async () => {
      const path = '/api/publication/by-external-id/erp-gone';
      await harness.request('PUT', path, { token, body: TEA });
      const key = newKey();
      const deleted = await send('DELETE', path, key);
      expect(deleted.status).toBe(200);
      await lose();
      expectReplay(deleted, await send('DELETE', path, key));
    });

    test('another request with the key that concerns the same resource is 409 DUPLICATE_OPERATION', async () => {
      const key = newKey();
      const first = await post(key);
      const path = `/api/publication/${first.body.data.id}`;
      await lose();
      expectError(await post(key, { ...TEA, title: 'Coffee' }), 409, 'DUPLICATE_OPERATION');
      expectError(await send('PATCH', path, key, { body: { title: 'Coffee' } }), 409, 'DUPLICATE_OPERATION');
      expectError(await send('DELETE', path, key), 409, 'DUPLICATE_OPERATION');
      expectReplay(first, await post(key));
      expect(await eventsOf(first.body.data.id)).toEqual(['PublicationCreated']);
    });

    test('an append whose answer was lost is found, and the write is not done again', async () => {
      const key = newKey();
      const before = await count('/api/publications');
      breakNextAppend(harness.service.runtime.events.live, 'after', new CatalogError('database_timeout'));
      expect((await post(key)).status).toBe(500);
      await lose();
      const again = await post(key);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      expect(await count('/api/publications')).toBe(before + 1);
    });

    test('a repetition after midnight is found, and a day later the key is that of a new operation', async () => {
      const midnight_ms = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
      const key = newKey();
      await setClock(midnight_ms - 30_000);
      const first = await post(key);
      const path = `/api/publication/${first.body.data.id}`;
      const changed = await send('PATCH', path, `${key}-patch`, { body: { title: 'Green tea' } });
      await lose();
      await setClock(midnight_ms + 30_000);
      expectReplay(first, await post(key));
      expectReplay(changed, await send('PATCH', path, `${key}-patch`, { body: { title: 'Green tea' } }));

      await setClock(midnight_ms + DAY_MS + HOUR_MS);
      const used_again = await post(key);
      expect(used_again.status).toBe(201);
      expect(used_again.body.data.id).not.toBe(first.body.data.id);
      await lose();
      await setClock(midnight_ms + 2 * DAY_MS);
      expectReplay(used_again, await post(key));
    });

    test('a key that is used again after 24 hours writes again, although its record was lost', async () => {
      const key = newKey();
      const start_ms = Math.ceil(Date.now() / DAY_MS) * DAY_MS + 10 * HOUR_MS;
      await setClock(start_ms);
      const first = await post(key);
      await lose();
      await setClock(start_ms + DAY_MS + 60_000);
      const second = await post(key);
      expect(second.headers.get('idempotent-replayed')).toBeNull();
      expect(second.body.data.id).not.toBe(first.body.data.id);
    });
  });
}
