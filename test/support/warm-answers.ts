import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import type { Listening } from '../../services/boot/listen';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { startColdApp } from './cold-app';
import { fetch } from './fetch';
import { type Harness, type Reply, startHarness, type TestKey } from './harness';
import { runs, SEED } from './long';
import type { OwnNames } from './own-servers';
import { Dice } from './raw-requests';
import { waitFor } from './wait-for';

const ROUNDS = runs(1, 20);
const WRITES_PER_ROUND = 12;
const OWN_WRITES_PER_ROUND = 15;
/** A list of the first publication. */
const OLDEST = '/api/publications?sort=created_at&order=asc&limit=1&visibility=all';
const WORDS = ['tea', 'coffee', 'cocoa', 'cup', 'green', 'black'];

/**
 * Two services share a data folder or servers, each with a warm edge cache. Both are read all the time by several
 * principals while both are written to. Whenever the writes of a round are acknowledged, every answer of both services must
 * be that of an app without the cache. `namesOf` returns the names on servers; without it, the stores are embedded.
 */
export function warmAnswersEqualColdOnes(namesOf?: () => OwnNames): void {
  const dice = new Dice(SEED);
  let harness: Harness;
  let second: Service;
  let uncached: Listening;
  let publications: string[] = [];
  const listings: string[] = [];
  let own: string;
  let keys: TestKey[] = [];
  let merchant: TestKey;

  beforeAll(async () => {
    const environment = { VIEW_FLUSH_INTERVAL_S: '3600', EDGE_CACHE_MB: '1' };
    harness = await startHarness({ environment, ...(namesOf && { servers: namesOf() }) });
    second = await startAllInOne(parseConfig(harness.settings), pino({ level: 'silent' }), realSystem);
    uncached = await startColdApp(harness.service.runtime);
    const shop = await harness.newShop();
    const other = await harness.newStore();
    merchant = shop.secret;
    const both = await harness.newKey('public', [shop.store_id, other]);
    const swapped = await harness.newKey('public', [other, shop.store_id]);
    keys = [shop.public, shop.secret, both, swapped];
    const fields = { ...someFields(), visibility: 'public', price_currency: 'USD' };
    own = (await write('POST', '/api/publication', fields)).data.id;
  });
  afterAll(async () => {
    await uncached.close({ idle_ms: 1 });
    await second.close();
    await harness.close();
  });

  const urls = (): readonly string[] => [harness.url, second.url];
  /** Sends a write, and sends it again if a busy machine has not answered it in time. It is done once. */
  const send = (method: string, path: string, body?: object): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${merchant.token}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    return waitFor(async () => {
      const response = await fetch(`${dice.of(urls())}${path}`, sent);
      return !response.headers.has('retry-after') && response;
    });
  };
  const write = async (method: string, path: string, body?: object): Promise<Reply['body']> => {
    const response = await send(method, path, body);
    // Two writes of a round may change the same resource.
    expect([200, 201, 404, 409]).toContain(response.status);
    return response.json();
  };
  const someFields = () => ({
    title: `${dice.of(WORDS)} ${dice.of(WORDS)} ${dice.below(50)}`,
    price_amount: dice.below(1_000),
    visibility: dice.of(['public', 'public', 'public', 'private']),
  });
  const writeSomething = async (): Promise<void> => {
    const id = dice.of(publications);
    const kind = dice.below(10);
    if (kind < 3 || id === undefined) {
      const body = {
        ...someFields(),
        price_currency: 'USD',
        ...(listings.length > 0 && { listing_id: dice.of(listings) }),
      };
      const { data } = await write('POST', '/api/publication', body);
      publications.push(data.id);
    } else if (kind < 7) await write('PATCH', `/api/publication/${id}`, someFields());
    else if (kind < 8 && publications.length > 5) {
      publications = publications.filter((other) => other !== id);
      await write('DELETE', `/api/publication/${id}`);
    } else if (listings.length < 3) {
      const { data } = await write('POST', '/api/listing', { name: dice.of(WORDS) });
      listings.push(data.id);
    } else
      await write('PATCH', `/api/listing/${dice.of(listings)}`, {
        name: `${dice.of(WORDS)} ${dice.below(50)}`,
      });
  };
  const paths = (): readonly string[] => [
    '/api/store',
    '/api/publications?limit=50',
    '/api/publications?sort=price&order=asc&limit=5&page=2',
    '/api/publications?min_price=500&expand=listing',
    `/api/store/search?q=${WORDS[0]}`,
    '/api/listings?expand=publication',
    ...publications
      .slice(-6)
      .flatMap((id) => [`/api/publication/${id}`, `/api/publication/${id}?expand=listing`]),
    ...publications.slice(-2).map((id) => `/api/publication/${id}/related`),
    ...listings.flatMap((id) => [`/api/listing/${id}`, `/api/listing/${id}/publications`]),
  ];
  const read = async (url: string, path: string, { token }: TestKey): Promise<string> => {
    let response: Response;
    // 503 is no answer: the database of a busy machine took too long, and the client should try again.
    do response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    while (response.status === 503);
    const etag = response.headers.get('etag');
    return JSON.stringify([response.status, etag, response.ok ? await response.text() : '']);
  };

  /** Changes a publication that nobody else writes. Both services must show each change as soon as it is projected. */
  const followOwnWrites = async (): Promise<void> => {
    for (let n = 0; n < OWN_WRITES_PER_ROUND; n++) {
      const title = `own ${dice.below(1_000_000)}`;
      const reply = await send('PATCH', `/api/publication/${own}`, { title });
      const position = reply.headers.get('x-catalog-position') ?? '';
      expect([reply.status, position]).toEqual([200, expect.stringMatching(/^[0-9]+$/)]);
      const headers = { authorization: `Bearer ${merchant.token}`, 'x-catalog-min-position': position };
      // A busy machine may project the write later than a read waits.
      await waitFor(async () => (await fetch(`${uncached.url}/api/publication/${own}`, { headers })).ok);
      for (const path of [`/api/publication/${own}`, OLDEST])
        for (const url of urls())
          expect([path, await read(url, path, merchant)]).toEqual([path, expect.stringContaining(title)]);
    }
  };

  test('warm answers equal cold ones whenever writes have been acknowledged', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      let writing = true;
      const readers = urls().map(async (url) => {
        while (writing) await read(url, dice.of(paths()), dice.of(keys));
      });
      await Promise.all([
        followOwnWrites(),
        ...Array.from({ length: 3 }, async () => {
          for (let n = 0; n < WRITES_PER_ROUND / 3; n++) await writeSomething();
          // The views of the readers are a write, too. No others are appended while answers are compared.
          await Promise.all([harness.service, second].map(({ page_views }) => page_views.flush()));
        }),
      ]);
      // A busy machine may acknowledge a write before it is projected. Then no read includes it yet.
      await harness.settled();
      writing = false;
      await Promise.all(readers);
      for (const path of paths())
        for (const key of keys) {
          const cold = await read(uncached.url, path, key);
          for (const url of urls()) expect([path, await read(url, path, key)]).toEqual([path, cold]);
        }
    }
  });
}
