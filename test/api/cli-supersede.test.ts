import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StreamName, streamName } from '../../shared/catalog/events/envelope';
import type { Change } from '../../shared/client/api';
import { waitFor } from '../support/wait-for';
import { expectFailure, InProcessCli } from './cli-run';
import { ownShop } from './own-shop';

const here = ownShop({ is_own: true });
const { send } = here;
const TEA = { price_currency: 'EUR', price_amount: 4 };

const titleOf = async (id: string): Promise<string> =>
  (await send('GET', `/api/publication/${id}`)).body.data.title;

/** Runs commands beside the service. */
const operator = () => new InProcessCli(here.harness.data_dir);

function fileWith(content: unknown): string {
  const path = join(here.harness.data_dir, `${randomUUID()}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Creates a publication with an event that cannot be read, and a readable one after it. */
async function damagedPublication(
  damage: object = { data: { title: { wrong: true } } },
): Promise<{ id: string; stream: StreamName }> {
  const { body } = await send('POST', '/api/publication', { body: { ...TEA, title: 'Tea' } });
  const { id } = body.data;
  const stream = streamName('live', 'publication', id);
  const { live } = here.harness.deps.events;
  await send('PATCH', `/api/publication/${id}`, { body: { title: 'Green tea' } });
  await send('PATCH', `/api/publication/${id}`, { body: { price_amount: 5 } });
  const [, described, priced] = await live.readStream(stream);
  const unreadable = { ...described!, id: randomUUID(), ...damage };
  const price = { ...priced!, id: randomUUID(), data: { ...priced!.data, price_amount: 7 } };
  expect(await live.append(stream, 2, [unreadable, price])).toMatchObject({ outcome: 'appended' });
  // A write to the stream is refused as long as nobody knows what it contains.
  expect((await send('PATCH', `/api/publication/${id}`, { body: { title: 'Mint' } })).status).toBe(500);
  return { id, stream };
}

const TEXTS = { title: 'Black tea', description: '', description_html: '', free_shipping: false };
const DESCRIBED = { type: 'PublicationDescribed', data: TEXTS };

describe('catalog events supersede', () => {
  test('mends a stream for documents, reads, writes, the feed, a rebuild and a copy of the log', async () => {
    const { id, stream } = await damagedPublication();
    await waitFor(
      async () => (await operator().json('projections', 'dead-letters')).dead_letters.length === 1,
    );
    expect(await titleOf(id)).toBe('Green tea');

    const file = fileWith(DESCRIBED);
    const mended = await operator().json(
      'events',
      'supersede',
      stream,
      '3',
      '--with',
      file,
      '--reason',
      'damaged',
    );
    expect(mended).toMatchObject({ stream, revision: 3, correction: 5 });
    expect(mended.versions).toEqual([expect.objectContaining({ dead_letter: null })]);

    await waitFor(async () => (await titleOf(id)) === 'Black tea');
    const read = async () => (await send('GET', `/api/publication/${id}`)).body.data;
    expect(await read()).toMatchObject({ title: 'Black tea', price_amount: 7 });
    const history = (await send('GET', `/api/publication/${id}/history`)).body.data as Change[];
    expect(
      history.map(({ revision, changed }) => [revision, changed.title?.after, changed.price_amount?.after]),
    ).toEqual([
      [5, undefined, 7],
      [4, 'Black tea', undefined],
      [3, undefined, 5],
      [2, 'Green tea', undefined],
      [1, 'Tea', 4],
    ]);
    expect(
      (await send('PATCH', `/api/publication/${id}`, { body: { title: 'Mint' } })).body.data,
    ).toMatchObject({
      title: 'Mint',
      price_amount: 7,
    });
    expect(await operator().json('projections', 'verify')).toMatchObject({ clean: true });
    await operator().json('projections', 'rebuild', '--realm', 'live');
    expect(await operator().json('projections', 'verify')).toMatchObject({ clean: true });
    expect(await read()).toMatchObject({ title: 'Mint', price_amount: 7 });

    const copy = join(here.harness.data_dir, 'events.jsonl');
    await operator().run('events', 'export', copy);
    const other = new InProcessCli(join(here.harness.data_dir, 'copy'));
    await other.json('events', 'import', copy);
    expect(await other.json('projections', 'verify')).toMatchObject({ clean: true });
    expect(await other.json('projections', 'dead-letters')).toMatchObject({ dead_letters: [] });
  });

  test('an event is corrected once, and then shown as corrected', async () => {
    const { id, stream } = await damagedPublication();
    const supersede = (title: string) => {
      const file = fileWith({ ...DESCRIBED, data: { ...TEXTS, title } });
      return operator().run('events', 'supersede', stream, '3', '--with', file, '--reason', title);
    };
    expect((await supersede('First')).code).toBe(0);
    expectFailure(await supersede('Second'), 1, 'is corrected already');
    const { body } = await send('PATCH', `/api/publication/${id}`, { body: { price_amount: 8 } });
    expect(body.data.title).toBe('First');
    expect((await operator().run('events', 'show', stream)).stdout).toContain('corrected by event 5');
  });

  test('an event whose metadata are damaged, too, is mended by the next rebuild', async () => {
    const { id, stream } = await damagedPublication({ metadata: { by: 'hand' } });
    const file = fileWith(DESCRIBED);
    const { versions } = await operator().json(
      ...['events', 'supersede', stream, '3', '--with', file, '--reason', 'damaged'],
    );
    expect(versions).toEqual([]);
    await operator().json('projections', 'rebuild', '--realm', 'live');
    await waitFor(async () => (await titleOf(id)) === 'Black tea');
    expect(await operator().json('projections', 'verify')).toMatchObject({ clean: true });
  });

  test('refuses what would not mend the stream', async () => {
    const { stream } = await damagedPublication();
    const supersede = (revision: string, content: unknown, name: string = stream) =>
      operator().run('events', 'supersede', name, revision, '--with', fileWith(content), '--reason', 'test');
    expectFailure(await supersede('1', DESCRIBED), 1, 'can be read');
    expectFailure(await supersede('9', DESCRIBED), 1, 'has no event 9');
    expectFailure(await supersede('3', 'not json'), 1, 'JSON');
    expectFailure(await supersede('3', { ...DESCRIBED, data: { title: 7 } }), 1, 'does not match its schema');
    expectFailure(
      await supersede('3', { type: 'PublicationErasedTwice', data: {} }),
      1,
      'PublicationErasedTwice',
    );
    expectFailure(await supersede('3', { ...DESCRIBED, reason: 'x' }), 1, 'reason');
    const elsewhere = { type: 'PublicationErased', data: { store_id: randomUUID() } };
    expectFailure(await supersede('3', elsewhere), 1, 'the store of the stream is');
    expectFailure(await supersede('0', DESCRIBED, `control.account-${randomUUID()}`), 1, 'API keys');
    expect(await here.harness.deps.events.live.readStream(stream)).toHaveLength(5);
  });
});
