import type { ReviewFields } from '../../../shared/catalog/review/review';
import { ReadWorld, refusal } from './read-world';
import { idOf, minute, samplePublication, sampleStore } from './sample';

const method = (name: string, position: number, created: number) => ({
  payment_method_id: idOf(name),
  type: 'cash' as const,
  name,
  instructions: null,
  position,
  created_at: minute(created),
});

const store = sampleStore('store', {
  payment_methods: [method('Wire', 3, 1), method('Äpfel', 1, 3), method('Bar', 2, 2)],
});
const shirt = samplePublication(store, 'Shirt');
const unreviewed = samplePublication(store, 'Unreviewed');
const secret = samplePublication(store, 'Secret', { visibility: 'private' });

const review = (publication_id: string, rating: number, at: number): ReviewFields => ({
  store_id: store.id,
  publication_id,
  rating,
  title: null,
  body: 'So it is.',
  author_name: 'A buyer',
  verified: true,
  created_at: minute(at),
});
const reviews = {
  [idOf('r1')]: review(shirt.id, 5, 1),
  [idOf('r2')]: review(shirt.id, 4, 3),
  [idOf('r3')]: review(shirt.id, 4, 2),
  [idOf('r4')]: review(secret.id, 1, 1),
};

describe('payment methods and reviews', () => {
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id]);
    await world.fill({ store, listings: [], publications: [shirt, unreviewed, secret], reviews });
  });
  afterAll(() => world.close());

  const methods = async (query = '') =>
    (await world.ask('/api/payment-methods', { query })).data as { name: string }[];

  test('payment methods come in the order of the merchant by default', async () => {
    const names = async (query: string) => (await methods(query)).map((one) => one.name);
    expect(await names('')).toEqual(['Äpfel', 'Bar', 'Wire']);
    expect(await names('order=desc')).toEqual(['Wire', 'Bar', 'Äpfel']);
    expect(await names('sort=created_at')).toEqual(['Äpfel', 'Bar', 'Wire']);
    expect(await names('sort=created_at&order=asc')).toEqual(['Wire', 'Bar', 'Äpfel']);
    expect(await names('sort=name')).toEqual(['Äpfel', 'Bar', 'Wire']);
    expect(await names('limit=1&page=2')).toEqual(['Bar']);
  });

  test('a payment method has exactly the documented fields', async () => {
    const answer = await world.ask('/api/payment-methods', { query: 'limit=1' });
    expect(answer).toEqual({
      data: [{ id: idOf('Äpfel'), object: 'payment_method', type: 'cash', name: 'Äpfel', position: 1 }],
      meta: {
        page: 1,
        take: 1,
        item_count: 3,
        pagination: { page: 1, limit: 1, total_items: 3, total_pages: 3 },
      },
    });
  });

  test('reviews come newest first, with a summary of all of them on every page', async () => {
    const answer = await world.ask('/api/publication/:id/reviews', { id: shirt.id, query: 'limit=2' });
    expect(answer.data).toMatchObject([
      { id: idOf('r2'), object: 'review', publication_id: shirt.id, rating: 4 },
      { id: idOf('r3') },
    ]);
    expect(answer.meta).toMatchObject({
      item_count: 3,
      summary: { average: 4.33, count: 3, distribution: { 1: 0, 2: 0, 3: 0, 4: 2, 5: 1 } },
    });
  });

  test('a publication without reviews has an average of 0 and a full distribution', async () => {
    const answer = await world.ask('/api/publication/:id/reviews', { id: unreviewed.id });
    expect(answer.data).toEqual([]);
    expect(answer.meta).toMatchObject({
      summary: { average: 0, count: 0, distribution: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } },
    });
  });

  test('the reviews of a private publication are only found with another visibility', async () => {
    const path = '/api/publication/:id/reviews';
    expect(await refusal(world.ask(path, { id: secret.id }))).toBe('publication_not_found');
    const managed = await world.ask(path, { id: secret.id, query: 'visibility=all' });
    expect(managed.meta).toMatchObject({ item_count: 1, summary: { average: 1 } });
    const open = await world.ask(path, { id: shirt.id, query: 'visibility=private' });
    expect(open.meta).toMatchObject({ item_count: 3 });
  });
});
