import type { Session } from '../embedded';
import { median } from '../statistics';

const NAMES = {
  single: 'writes, one request after another',
  batch: 'batch of 500, items',
  gain: 'batch of 500, of one request after another',
  variant: 'change of one of 2,048 variants',
  export: 'export, publications',
  changes: 'changes, from the beginning',
  page: 'page of 20 with facets=price, of the page',
};
const ITEMS = 500;
const SINGLE_WRITES = 100;
const VARIANTS = 2_048;
const CHANGED = 20;
const PAGES = 50;

/** Measures what reads or writes many at once, against the same one by one. */
export async function measureBulk(session: Session): Promise<void> {
  const { report, service, secret_token, public_tokens, data } = session;
  if (!report.wants(...Object.values(NAMES))) return;
  const store_id = data.catalog.writes.id;
  const send = async (
    method: string,
    path: string,
    body?: object,
    token = secret_token,
    prefer = 'respond-async',
  ) => {
    const headers = {
      authorization: `Bearer ${token}`,
      prefer,
      ...(body && { 'content-type': 'application/json' }),
    };
    const reply = await fetch(service.url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 300)}`);
    return {
      text,
      headers: reply.headers,
      data: path.startsWith('/api/export') ? undefined : JSON.parse(text).data,
    };
  };
  const timeMs = async (work: () => Promise<unknown>): Promise<number> => {
    const start_ms = performance.now();
    await work();
    return performance.now() - start_ms;
  };
  // Each with a handle of its own.
  const run = Date.now().toString(36);
  let made = 0;
  const product = (n: number) => ({ title: `Bulk ${run} ${made++}`, price_currency: 'USD', price_amount: n });

  const single_ms: number[] = [];
  for (let n = 0; n < SINGLE_WRITES; n++)
    single_ms.push(await timeMs(() => send('POST', '/api/publication', { ...product(n), store_id })));
  const single = 1_000 / median(single_ms);
  const batch_ms: number[] = [];
  for (let round = 0; round < session.rounds.count; round++) {
    const items = Array.from({ length: ITEMS }, (_, n) => ({ action: 'create', body: product(n) }));
    batch_ms.push(
      await timeMs(() => send('POST', `/api/publications/batch?store_id=${store_id}`, { items })),
    );
  }
  const batch = (ITEMS * 1_000) / median(batch_ms);
  report.add({ name: NAMES.single, unit: 'per second', value: single });
  report.add({ name: NAMES.batch, unit: 'per second', value: batch });
  report.add({ name: NAMES.gain, unit: 'times', value: batch / single });

  const sizes = Array.from({ length: VARIANTS }, (_, n) => ({ option_values: { Size: String(n) } }));
  const large = { ...product(1), store_id, options: [{ name: 'Size', values: [] }], variants: sizes };
  // Waits until reads show it.
  const { id } = (await send('POST', '/api/publication', large, secret_token, 'return=representation')).data;
  const [variant] = (await send('GET', `/api/publication/${id}/variants?limit=1&store_id=${store_id}`)).data;
  const change_ms: number[] = [];
  for (let n = 0; n < CHANGED; n++)
    change_ms.push(await timeMs(() => send('PATCH', `/api/variant/${variant.id}`, { price_amount: n + 1 })));
  report.add({ name: NAMES.variant, unit: 'ms', value: median(change_ms) });

  let lines = 0;
  const export_ms = await timeMs(async () => {
    lines = (await send('GET', `/api/export?store_id=${store_id}`)).text.split('\n').length;
  });
  report.add({ name: NAMES.export, unit: 'per second', value: (lines * 1_000) / export_ms });

  let changes = 0;
  const changes_ms = await timeMs(async () => {
    for (let offset = '-1', is_done = false; !is_done; ) {
      const { text, headers } = await send('GET', `/api/changes?store_id=${store_id}&offset=${offset}`);
      changes += (JSON.parse(text) as unknown[]).length;
      offset = headers.get('stream-next-offset')!;
      is_done = headers.get('stream-up-to-date') === 'true';
    }
  });
  report.add({ name: NAMES.changes, unit: 'per second', value: (changes * 1_000) / changes_ms });

  // Each page once, so that no cache answers it.
  const pageMs = async (query: string): Promise<number> => {
    const times: number[] = [];
    for (let page = 1; page <= PAGES; page++)
      times.push(
        await timeMs(() =>
          send('GET', `/api/publications?page=${page}${query}`, undefined, public_tokens[0]),
        ),
      );
    return median(times);
  };
  const plain_ms = await pageMs('&max_price=99999999');
  const counted_ms = await pageMs('&max_price=99999998&facets=price');
  report.add({ name: NAMES.page, unit: 'times', value: counted_ms / plain_ms });
}
