import { collections } from '../../shared/catalog/documents';
import {
  type JsonObject,
  type Position,
  type StreamName,
  streamName,
} from '../../shared/catalog/events/envelope';
import { UnstorableDocumentError } from '../../shared/kernel/errors';
import { ALL_PARTS, type DeadLetter, type ViewVersion } from '../../shared/ports/view-store';
import { bounded } from '../support/bounded';
import { WAIT_MS_MAX, waitFor, within } from '../support/wait-for';
import { aBatch, aPublication, aWrite, idsOf, nextBatch, put } from './some-documents';
import type { ViewStoreUnderTest } from './view-store.contract';

/** A wait with this limit ends in time only because the checkpoint moves: the tests give up earlier. */
const LONGER_THAN_THE_TEST_MS = 10 * WAIT_MS_MAX;

/** Tests of documents by id, batches with their checkpoint, waits, and dead letters. */
export function viewDocumentsContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  describe(`documents on ${name}`, () => {
    let under_test: ViewStoreUnderTest;
    let view: ViewVersion;

    beforeEach(async () => {
      under_test = await open();
      const opened = await under_test.store.open((await under_test.store.createVersion(1)).version);
      view = bounded(opened, 'view');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    const openAgain = async (): Promise<ViewVersion> =>
      bounded(await (await under_test.openAnother()).open(view.version), 'view of another process');

    describe('by id', () => {
      test('returns a document with its keys, its body and the requested parts', async () => {
        const document = aPublication({ listing_id: null }, { title: 'Jacket', list: [1, { a: null }] });
        await put(view, aWrite('publications', 'p', 3n, document));
        const stored = { id: 'p', position: 3n, document };
        const bare = { ...document, state: {}, expansions: {} };
        expect(await view.get('publications', 'p')).toEqual({ ...stored, document: bare });
        expect(await view.get('publications', 'p', ['state'])).toEqual({
          ...stored,
          document: { ...bare, state: document.state },
        });
        expect(await view.get('publications', 'p', ['expansions'])).toEqual({
          ...stored,
          document: { ...bare, expansions: document.expansions },
        });
        expect(await view.get('publications', 'p', ['expansions', 'state'])).toEqual(stored);
        expect(await view.get('publications', 'unknown')).toBeUndefined();
        expect(await view.get('listings', 'p')).toBeUndefined();
      });

      test('a body that is also requested as JSON text has the same value, and its text is the JSON of that value', async () => {
        const document = aPublication({}, { title: '漢字 "🛒"', price: 1.5, list: [1, { a: null }] });
        await put(view, aWrite('publications', 'p', 3n, document));
        await put(view, aWrite('publications', 'gone', 3n, null));
        const got = await view.get('publications', 'p', ['json', 'state']);
        const query = { where: {}, order: [['id', 'asc']], limit: 9, parts: ['json', 'state'] } as const;
        for (const stored of [got, ...(await view.find('publications', query))]) {
          const { json, keys, body, state, expansions } = stored!.document!;
          expect({ keys, body, state, expansions }).toEqual({ ...document, expansions: {} });
          expect(json?.toJSON() ?? document.body).toEqual(document.body);
        }
        expect((await view.get('publications', 'gone', ['json']))?.document).toBeNull();
      });

      test('any text is read back unchanged, also in keys', async () => {
        for (const [index, text] of ['漢字 🛒🏽', 'e\u0301', 'a\u0000b', '\ud83d', '', '"\\'].entries()) {
          const document = aPublication({ name_fold: text }, { title: text, [text]: 1 });
          await put(view, aWrite('publications', `p${index}`, 1n, document));
          expect((await view.get('publications', `p${index}`, ALL_PARTS))?.document).toEqual(document);
        }
      });

      test('a document whose state and expansions repeat other values is read back unchanged', async () => {
        const { repeats } = collections.publications;
        const listing = { id: 'l', version: 3, visibility: 'public', body: { name: 'Mugs' } };
        const aggregate = (values: JsonObject): JsonObject => ({
          ...Object.fromEntries(repeats!.fields.map((field) => [field, null])),
          ...values,
        });
        const body = { title: 'A mug', media_ids: ['m', 'n'], price_amount: 5, stats: { view_count: 1 } };
        const states = [
          aggregate(body),
          aggregate({ ...body, title: 'Another', media_ids: ['n', 'm'], view_count: 9, version: 0 }),
          aggregate({ store_id: 'store-1', listing_id: 'listing-1', free_shipping: false }),
          aggregate({ ...body, ...repeats!.aggregate_defaults, free_shipping: true }),
          aggregate({ ...repeats!.aggregate_defaults, view_count: 3 }),
          { title: 'A mug' },
          null,
        ];
        const counts = { ...repeats!.state_defaults, page_views: 7 };
        const documents = [...states, ...states].map((publication, n) =>
          aWrite('publications', `p${n}`, 1n, {
            ...aPublication({}, body),
            state: n % 2 === 0 ? { publication, page_views: 1 } : { ...counts, publication },
            expansions: { listing: n === 3 ? null : listing, media: [] },
          }),
        );
        await put(view, ...documents);
        const parts = ['state', 'expansions'] as const;
        for (const { id, document } of documents)
          expect((await view.get('publications', id, parts))?.document).toEqual(document);
        const moved = aWrite('publications', 'p0', 2n, { ...documents[1]!.document! });
        await put(view, moved);
        expect((await view.get('publications', 'p0', parts))?.document).toEqual(moved.document);
      });

      test('a large document is read back unchanged', async () => {
        const document = aPublication({}, { text: 'ß🛒'.repeat(500_000) });
        await put(view, aWrite('publications', 'p', 1n, document));
        expect((await view.get('publications', 'p', ALL_PARTS))?.document).toEqual(document);
      });

      test('a tombstone is found by id only', async () => {
        await put(view, aWrite('publications', 'p', 1n, aPublication()));
        await put(view, aWrite('publications', 'p', 2n, null));
        const tombstone = { id: 'p', position: 2n, document: null };
        expect(await view.get('publications', 'p', ALL_PARTS)).toEqual(tombstone);
        expect(await view.getMany('publications', ['p'])).toEqual([tombstone]);
        expect(await view.scan('publications', { limit: 10 })).toEqual([tombstone]);
        for (const where of [
          {},
          { store_id: 'store-1' },
          { listing_id: null },
          { listing_id: { in: [null] } },
        ]) {
          expect(await view.find('publications', { where, order: [['id', 'asc']], limit: 10 })).toEqual([]);
          expect(await view.count('publications', where)).toBe(0);
        }
        expect(await view.scan('publications', { where: { listing_id: null }, limit: 10 })).toEqual([]);
        await put(view, aWrite('publications', 'p', 3n, aPublication()));
        expect((await view.get('publications', 'p'))?.document?.keys).toEqual(aPublication().keys);
      });

      test('a document that is removed leaves no tombstone, and can be written again', async () => {
        await put(view, aWrite('publications', 'p', 1n, aPublication()));
        await put(view, { ...aWrite('publications', 'p', 2n, null), is_removed: true });
        expect(await view.get('publications', 'p')).toBeUndefined();
        expect(await view.scan('publications', { limit: 10 })).toEqual([]);
        expect(await view.count('publications', { store_id: 'store-1' })).toBe(0);
        await put(view, { ...aWrite('publications', 'p', 3n, aPublication()), is_new: true });
        expect(await view.count('publications', { store_id: 'store-1' })).toBe(1);
      });

      test('getMany returns each document once, for any number of ids', async () => {
        const writes = Array.from({ length: 2_500 }, (_, n) =>
          aWrite('publications', `p${n}`, 1n, aPublication()),
        );
        // A busy server does not write all of them within the time of one call.
        for (let at = 0; at < writes.length; at += 250) await put(view, ...writes.slice(at, at + 250));
        const asked = ['none', ...writes.map(({ id }) => id), 'p7', 'p7'];
        // A call that a busy server does not answer in time makes the next ones smaller.
        const found = await waitFor(() => view.getMany('publications', asked, ['state']));
        expect(idsOf(found).sort()).toEqual(writes.map(({ id }) => id).sort());
        expect(found[0]!.document!.state).toEqual(aPublication().state);
        expect(await view.getMany('publications', [])).toEqual([]);
      });
    });

    test('the mark is the newest event that batches have stored, in every process', async () => {
      expect(await view.mark()).toBeUndefined();
      const older = { position: 7n, event_id: 'older' };
      const newer = { position: 9n, event_id: 'newer' };
      const batch = aBatch({ checkpoint: 10n });
      expect(await view.apply({ ...batch, partition: 1, mark: newer })).toBe('applied');
      expect(await view.apply({ ...batch, partition: 0, mark: older })).toBe('applied');
      expect(await view.mark()).toEqual(newer);
      // Without a mark the partition keeps its own, and a batch that lost a race stores none.
      expect(await view.apply({ ...batch, partition: 1, revision: 1, checkpoint: 20n })).toBe('applied');
      const lost = { ...batch, partition: 0, mark: { position: 30n, event_id: 'lost' } };
      expect(await view.apply(lost)).toBe('lost_race');
      expect(await (await openAgain()).mark()).toEqual(newer);
    });

    describe('apply', () => {
      test('writes documents of several collections, and moves only the checkpoint of the partition of the batch', async () => {
        const listing = { keys: {}, body: { name: 'Shoes' }, state: {}, expansions: {} };
        const writes = [
          aWrite('publications', 'p', 4n, aPublication()),
          aWrite('listings', 'l', 4n, listing),
        ];
        expect(await view.apply(aBatch({ partition: 2, checkpoint: 4n, writes }))).toBe('applied');
        expect(idsOf(await view.scan('publications', { limit: 9 }))).toEqual(['p']);
        expect((await view.get('listings', 'l'))?.document?.body).toEqual({ name: 'Shoes' });
        expect(await view.checkpoint(2)).toBe(4n);
        expect(
          (await view.checkpoints()).map((at, partition) => at === (partition === 2 ? 4n : 0n)),
        ).not.toContain(false);
      });

      test('updates a document, including keys that are sorted by', async () => {
        await put(view, aWrite('publications', 'p', 1n, aPublication({ name_fold: 'b' })));
        await put(view, aWrite('publications', 'p', 2n, aPublication({ name_fold: 'b', version: 2 })));
        expect((await view.get('publications', 'p'))?.document?.keys.version).toBe(2);
        await put(view, aWrite('publications', 'p', 3n, aPublication({ name_fold: 'a', store_id: 's2' })));
        expect((await view.get('publications', 'p'))?.position).toBe(3n);
        const where = { store_id: 's2', visibility: 'public' };
        expect(
          idsOf(await view.find('publications', { where, order: [['name_fold', 'asc']], limit: 5 })),
        ).toEqual(['p']);
        expect(await view.count('publications', { store_id: 'store-1', visibility: 'public' })).toBe(0);
      });

      test.each([
        ['at an earlier revision', { revision: 0 }],
        ['at a later revision', { revision: 2 }],
        ['before the checkpoint', { checkpoint: 4n }],
      ])('returns lost_race, and changes nothing, for a batch %s', async (_, position) => {
        await put(view, aWrite('publications', 'p', 5n, aPublication()));
        const writes = [
          aWrite('publications', 'p', 6n, aPublication({ store_id: 'another' })),
          aWrite('publications', 'q', 6n, aPublication()),
        ];
        const batch = aBatch({ revision: 1, checkpoint: 6n, writes, ...position });
        expect(await view.apply(batch)).toBe('lost_race');
        expect(await view.partition(0)).toEqual({ checkpoint: 5n, revision: 1, dead_letters: [] });
        expect(
          (await view.scan('publications', { limit: 5 })).map(({ id, position }) => [id, position]),
        ).toEqual([['p', 5n]]);
        expect(await view.apply({ ...batch, revision: 1, checkpoint: 6n })).toBe('applied');
        const where = { store_id: 'another' };
        expect(idsOf(await view.find('publications', { where, order: [['id', 'asc']], limit: 9 }))).toEqual([
          'p',
        ]);
      });

      test('may leave the checkpoint unchanged', async () => {
        const writes = [aWrite('publications', 'p', 1n, aPublication())];
        expect(await view.apply(aBatch({ checkpoint: 0n, writes }))).toBe('applied');
        expect(await view.checkpoint(0)).toBe(0n);
        expect(idsOf(await view.scan('publications', { limit: 5 }))).toEqual(['p']);
      });

      test('one of two processes with the same batch applies it, and its documents are written once', async () => {
        const other = await openAgain();
        for (let n = 1n; n <= 10n; n++) {
          const batch = (by: string) => {
            const writes = [aWrite('publications', 'p', n, aPublication({}, { by }))];
            return aBatch({ revision: Number(n) - 1, checkpoint: n, writes });
          };
          const outcomes = await Promise.all([view.apply(batch('one')), other.apply(batch('two'))]);
          expect([...outcomes].sort()).toEqual(['applied', 'lost_race']);
          const winner = outcomes[0] === 'applied' ? 'one' : 'two';
          expect((await other.get('publications', 'p'))?.document?.body.by).toBe(winner);
        }
      });

      test('batches of different partitions do not conflict', async () => {
        const other = await openAgain();
        const outcomes = await Promise.all(
          Array.from({ length: under_test.store.partition_count }, async (_, partition) => {
            const writes = [aWrite('publications', `p${partition}`, 1n, aPublication())];
            return (partition % 2 ? view : other).apply(aBatch({ partition, writes }));
          }),
        );
        expect(new Set(outcomes)).toEqual(new Set(['applied']));
      });

      test('one batch may contain more than one call to the store takes', async () => {
        const document = aPublication({}, { description: 'x'.repeat(5_000) });
        const writes = Array.from({ length: 2_500 }, (_, n) => ({
          ...aWrite('publications', `p${n}`, 1n, document),
          is_new: true,
        }));
        expect(await view.apply(aBatch({ writes }))).toBe('applied');
        expect(await view.count('publications', {})).toBe(2_500);
      });
    });

    test.each([
      ['an unknown key', { colour: 'red' }],
      ['a key of another kind', { price_up: 'much' }],
    ])('a document with %s is refused, and the checkpoint does not move', async (_, keys) => {
      const writes = [
        aWrite('publications', 'q', 1n, aPublication()),
        aWrite('publications', 'p', 1n, aPublication(keys)),
      ];
      await expect(view.apply(aBatch({ writes }))).rejects.toThrow(UnstorableDocumentError);
      expect(await view.partition(0)).toEqual({ checkpoint: 0n, revision: 0, dead_letters: [] });
      expect(await view.scan('publications', { limit: 5 })).toEqual([]);
    });

    describe('advanceIdle', () => {
      test('moves exactly the partitions whose checkpoint is at or after `from`, in one step', async () => {
        await view.apply(aBatch({ partition: 1, checkpoint: 5n }));
        await view.apply(aBatch({ partition: 2, checkpoint: 8n }));
        await view.apply(aBatch({ partition: 3, checkpoint: 20n }));
        const moves = [0n, 5n, 5n, 5n].map((from, partition) => ({ partition, from, to: 10n }));
        expect((await view.advanceIdle(moves)).sort()).toEqual([0, 1, 2, 3]);
        expect((await view.checkpoints()).slice(0, 4)).toEqual([10n, 10n, 10n, 20n]);
        const behind = { partition: 1, from: 11n, to: 30n };
        expect(await view.advanceIdle([behind, { partition: 0, from: 10n, to: 30n }])).toEqual([0]);
        expect((await view.checkpoints()).slice(0, 4)).toEqual([30n, 10n, 10n, 20n]);
        expect(await view.advanceIdle([])).toEqual([]);
      });

      test('an older batch then returns lost_race, and waits for the partition resolve in this process and in another', async () => {
        const waiting = [view, await openAgain()].map((one) => one.waitFor(0, 9n, LONGER_THAN_THE_TEST_MS));
        await view.advanceIdle([{ partition: 0, from: 0n, to: 9n }]);
        expect(await Promise.all(waiting)).toEqual([true, true]);
        expect(await view.apply(aBatch({ checkpoint: 4n }))).toBe('lost_race');
        expect(await view.apply(aBatch({ checkpoint: 12n }))).toBe('applied');
      });
    });

    describe('waitFor', () => {
      test('is true at once for a position that the partition has passed', async () => {
        await put(view, aWrite('publications', 'p', 5n, aPublication()));
        expect(await view.waitFor(0, 5n, 0)).toBe(true);
        expect(await view.waitFor(0, 3n, 0)).toBe(true);
        expect(await view.waitFor(0, 6n, 0)).toBe(false);
      });

      test('is true as soon as the partition reaches the position, in this process and in another', async () => {
        const other = await openAgain();
        const waiting = [view, other].map((one) => one.waitFor(3, 10n, LONGER_THAN_THE_TEST_MS));
        for (let at = 0n; at < 10n; at += 5n)
          await view.apply(await nextBatch(view, { partition: 3, checkpoint: at + 5n }));
        expect(await Promise.all(waiting)).toEqual([true, true]);
      });

      test('is false after the timeout', async () => {
        expect(await view.waitFor(0, 1n, 50)).toBe(false);
      });

      test('a pending wait is false when the store is closed', async () => {
        const waiting = view.waitFor(0, 5n, LONGER_THAN_THE_TEST_MS);
        await view.checkpoint(0);
        await under_test.store.close();
        expect(await waiting).toBe(false);
      });

      test('many callers can wait for different positions', async () => {
        const waiting = Array.from({ length: 200 }, (_, n) =>
          view.waitFor(0, BigInt(1 + (n % 10)), LONGER_THAN_THE_TEST_MS),
        );
        for (let at = 0n; at < 10n; at++) await view.apply(await nextBatch(view, { checkpoint: at + 1n }));
        expect(await Promise.all(waiting)).not.toContain(false);
      });
    });

    describe('dead letters', () => {
      const aStream = (id: string): StreamName => streamName('live', 'publication', id);
      const aDeadLetter = (id: string, revision: number, position: Position): DeadLetter => ({
        stream: aStream(id),
        partition: 0,
        revision,
        position,
        reason: `the fold failed: "${id}" ✗`,
        failed_at: '2026-01-31T12:00:00.000Z',
      });

      const [one, two, later] = [
        { ...aDeadLetter('one.$', 3, 8n), cause: 'TypeError at projections/views/publication.js:88' },
        aDeadLetter('two', 0, 5n),
        aDeadLetter('one.$', 5, 9n),
      ];

      test('are those of the last batch that has set them, in log order, with the rest of the partition', async () => {
        const other = { ...aDeadLetter('other', 1, 4n), partition: 1 };
        await view.apply(aBatch({ checkpoint: 9n, dead_letters: [one, two] }));
        await view.apply(aBatch({ partition: 1, checkpoint: 4n, dead_letters: [other] }));
        const again = await openAgain();
        expect(await again.partition(0)).toEqual({ checkpoint: 9n, revision: 1, dead_letters: [two, one] });
        expect(await again.partition(1)).toEqual({ checkpoint: 4n, revision: 1, dead_letters: [other] });
        expect(await again.partition(2)).toEqual({ checkpoint: 0n, revision: 0, dead_letters: [] });
        expect(await again.deadLetters()).toEqual([other, two, one]);

        await view.apply(aBatch({ revision: 1, checkpoint: 9n, dead_letters: [later] }));
        expect(await again.deadLetters()).toEqual([other, later]);
        await view.apply(aBatch({ revision: 2, checkpoint: 10n }));
        await view.apply(aBatch({ partition: 1, revision: 1, checkpoint: 4n, dead_letters: [] }));
        expect(await again.deadLetters()).toEqual([later]);
      });

      test('do not change if the batch returns lost_race', async () => {
        await view.apply(aBatch({ checkpoint: 9n, dead_letters: [two] }));
        expect(await view.apply(aBatch({ checkpoint: 9n, dead_letters: [one] }))).toBe('lost_race');
        expect(await view.deadLetters()).toEqual([two]);
      });
    });

    test('writers on several partitions and readers do not disturb each other', async () => {
      const other = await openAgain();
      const writers = [0, 1, 2, 3].map(async (partition) => {
        for (let at = 0n; at < 20n; at++) {
          const writes = [aWrite('publications', `p${partition}`, at + 1n, aPublication())];
          const batch = aBatch({ partition, revision: Number(at), checkpoint: at + 1n, writes });
          expect(await (partition % 2 ? view : other).apply(batch)).toBe('applied');
        }
      });
      await waitFor(async () => idsOf(await other.scan('publications', { limit: 10 })).length === 4);
      await Promise.all(writers);
      expect((await view.checkpoints()).slice(0, 4)).toEqual([20n, 20n, 20n, 20n]);
    });
  });
}
