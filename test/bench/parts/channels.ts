import { integer, type Random, randomFrom } from '../catalog/random';
import { vocabulary } from '../catalog/vocabulary';
import type { Session } from '../embedded';
import type { PlannedRequest } from '../load-generator';
import { cpuUs } from '../process-usage';
import type { PublicProducts } from '../reads';
import { median, ratios } from '../statistics';
import { CONCURRENCY } from './reads';

const FEEDS = ['google.xml', 'meta.csv', 'acp.jsonl'];
const UNIT = 'per CPU second';
const FEED_UNIT = 'items per CPU second';
const SEED = 11;
/** So many different requests that no cache has the answer to one of them when it comes again. */
const COLD = 50_000;
const HOT = 200;
const LIMIT = 10;

/** A request by the Universal Commerce Protocol, and the read of `/api` that finds the same with the same expansions. */
interface Pair {
  readonly path: string;
  readonly body: object;
  readonly read: string;
}

const EXPAND = 'expand=media,variants';

function searchPair(random: Random): Pair {
  const query = `${vocabulary[integer(random, 0, 600)]} ${vocabulary[integer(random, 0, 600)]}`;
  const read = `/api/store/search?q=${encodeURIComponent(query)}&has_price=true&limit=${LIMIT}&${EXPAND}`;
  return { path: '/ucp/catalog/search', body: { query }, read };
}

function lookupPair(random: Random, products: PublicProducts, size: number): Pair {
  const [one, two] = [
    products.idAt(integer(random, 0, size - 1)),
    products.idAt(integer(random, 0, size - 1)),
  ];
  const ids = [...new Set([one, two])];
  return { path: '/ucp/catalog/lookup', body: { ids }, read: `/api/publications?ids=${ids}&${EXPAND}` };
}

/** Measures agents by UCP against the same reads by `/api`, and the feeds. */
export async function measureChannels(session: Session): Promise<void> {
  const { products, data } = session;
  const { size } = data.catalog.main;
  const kinds = {
    'UCP search': searchPair,
    'UCP look-up': (random: Random) => lookupPair(random, products, size),
  };
  for (const [kind, make] of Object.entries(kinds))
    for (const [state, count] of [
      ['hot', HOT],
      ['cold', COLD],
    ] as const) {
      const name = `${kind}, ${state}`;
      const random = randomFrom(SEED);
      if (session.report.wants(name))
        await compare(
          session,
          name,
          Array.from({ length: count }, () => make(random)),
        );
    }
  for (const file of FEEDS) await measureFeed(session, file);
}

/** Runs both sides in alternating rounds, after one round each to warm up. */
async function compare(
  { load, service, rounds, report, public_tokens }: Session,
  name: string,
  pairs: readonly Pair[],
): Promise<void> {
  const agent = { 'UCP-Agent': `profile="${service.url}/.well-known/ucp"` };
  const own = pairs.map(
    ({ path, body }): PlannedRequest => ({
      method: 'POST',
      path,
      headers: agent,
      body: JSON.stringify(body),
    }),
  );
  const headers = { Authorization: `Bearer ${public_tokens[0]}` };
  const reads = pairs.map(({ read }): PlannedRequest => ({ path: read, headers }));
  const plans = {
    ucp: await load.plan(service.url, own, service.pid),
    api: await load.plan(service.url, reads, service.pid),
  };
  const cpu_us: Record<keyof typeof plans, number[]> = { ucp: [], api: [] };
  for (let n = 0; n <= rounds.count; n++)
    for (const side of ['ucp', 'api'] as const) {
      const figures = await plans[side]({ concurrency: CONCURRENCY, duration_ms: rounds.duration_ms });
      if (n > 0) cpu_us[side].push(figures.cpu_us);
    }
  report.add({
    name,
    unit: UNIT,
    value: 1_000_000 / median(cpu_us.ucp),
    raw: 1_000_000 / median(cpu_us.api),
    ratio: median(ratios(cpu_us.api, cpu_us.ucp)),
    cpu_us: median(cpu_us.ucp),
  });
}

/** Measures how many items of a feed a second of CPU makes. */
async function measureFeed({ service, rounds, report }: Session, file: string): Promise<void> {
  const name = `feed ${file}`;
  if (!report.wants(name)) return;
  const google = await (await fetch(`${service.url}/feeds/google.xml`)).text();
  const items = google.split('<item>').length - 1;
  const per_second: number[] = [];
  for (let n = 0; n <= rounds.count; n++) {
    const before_us = cpuUs(service.pid) ?? Number.NaN;
    await (await fetch(`${service.url}/feeds/${file}`)).arrayBuffer();
    const used_us = (cpuUs(service.pid) ?? Number.NaN) - before_us;
    if (n > 0) per_second.push((1_000_000 * items) / used_us);
  }
  report.add({ name, unit: FEED_UNIT, value: median(per_second), note: `${items} items` });
}
