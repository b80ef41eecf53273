import type { FixedAnswer } from '../answers-process';
import type { AskedProcess } from '../asked-process';
import type { Bench, Session } from '../embedded';
import type { LoadFigures, PlannedRequest } from '../load-generator';
import { memoryMb } from '../process-usage';
import { type Read, readsOf, storefrontWalk, type WalkStep } from '../reads';
import { median, ratios } from '../statistics';
import type { Row } from '../table';

export const CONCURRENCY = 16;
/** Different requests of the storefront walk. More than an answer cache of a usual size holds at 100,000 products. */
const WALK_STEPS = 100_000;
/** So many of them come first, without being measured, because a service has run for more than a few seconds. */
const WALKED_BEFORE = 30_000;
const WALKED_BEFORE_QUICK = 5_000;
const WALK = 'storefront walk';
const WALK_MEMORY = 'memory after the walk';
const TOKENS = 'token exchange';

/** The same requests to the service and to the two servers with fixed answers. */
interface Sides {
  readonly service: readonly PlannedRequest[];
  readonly express: readonly PlannedRequest[];
  readonly bare: readonly PlannedRequest[];
}

/** Measures each kind of read against fixed answers of the same size. */
export async function measureReads(session: Session): Promise<void> {
  const { report, data, products, countItems } = session;
  for (const read of await readsOf(data.catalog, products, countItems))
    if (report.wants(read.name)) await compareWithFixed(session, read.name, await sidesOf(session, read));
}

async function sidesOf(session: Session, { name, paths, is_conditional }: Read): Promise<Sides> {
  const headers = { Authorization: `Bearer ${session.public_tokens[0]}` };
  const sample = await answerOf(session, paths[0]!, headers);
  const fixed = await fixedUrls(session, { name: slug(name), text: sample.text });
  if (!is_conditional) {
    const same = [{ path: `/${slug(name)}`, headers }];
    return { service: paths.map((path) => ({ path, headers })), express: same, bare: same };
  }
  const etagOf = async (url: string): Promise<string> => (await fetch(url)).headers.get('etag')!;
  const conditional = (path: string, etag: string): PlannedRequest[] => [
    { path, headers: { ...headers, 'If-None-Match': etag } },
  ];
  const path = `/${slug(name)}`;
  return {
    service: conditional(paths[0]!, sample.etag),
    express: conditional(path, await etagOf(fixed.express + path)),
    bare: conditional(path, await etagOf(fixed.bare + path)),
  };
}

/** Measures a walk of many visitors over the whole catalog, against fixed answers in the same order. */
export async function measureWalk(session: Session): Promise<void> {
  const { report, data, products, public_tokens, service } = session;
  if (!report.wants(WALK, WALK_MEMORY)) return;
  const steps = storefrontWalk(data.catalog, products, WALK_STEPS);
  const headersAt = (n: number) => ({ Authorization: `Bearer ${public_tokens[n % public_tokens.length]}` });
  const samples = new Map<WalkStep['kind'], string>();
  for (const { kind, path } of steps)
    if (!samples.has(kind)) samples.set(kind, (await answerOf(session, path, headersAt(0))).text);
  for (const [kind, text] of samples) await fixedUrls(session, { name: `walk-${kind}`, text });
  const fixed = steps.map(({ kind }, n) => ({ path: `/walk-${kind}`, headers: headersAt(n) }));
  const own = steps.map(({ path }, n) => ({ path, headers: headersAt(n) }));
  const before = session.options.quick ? WALKED_BEFORE_QUICK : WALKED_BEFORE;
  await compareWithFixed(session, WALK, { service: own, express: fixed, bare: fixed }, before);
  const memory = memoryMb(service.pid);
  if (!memory) return;
  const { projections_pid } = service;
  const beside = projections_pid === undefined ? undefined : memoryMb(projections_pid);
  const noteOf = (mb: number | undefined) =>
    mb === undefined ? {} : { note: `projection process ${mb.toFixed(0)} MB` };
  report.add({ name: WALK_MEMORY, unit: 'MB', value: memory.now, ...noteOf(beside?.now) });
  report.add({ name: 'peak memory of the service', unit: 'MB', value: memory.peak, ...noteOf(beside?.peak) });
}

/** Measures the exchange of keys for tokens. */
export async function measureTokens(session: Session): Promise<void> {
  const { report, data, service } = session;
  if (!report.wants(TOKENS)) return;
  const requestOf = (path: string, key: string): PlannedRequest => {
    return { method: 'POST', path, headers: { 'X-API-Key': key }, body: '{}' };
  };
  const keys = data.catalog.public_keys;
  const headers = { 'X-API-Key': keys[0]!, 'content-type': 'application/json' };
  const sample = await fetch(`${service.url}/auth/token`, { method: 'POST', headers, body: '{}' });
  await fixedUrls(session, { name: 'token', text: await sample.text() });
  const fixed = keys.map((key) => requestOf('/token', key));
  const own = keys.map((key) => requestOf('/auth/token', key));
  await compareWithFixed(session, TOKENS, { service: own, express: fixed, bare: fixed });
}

async function answerOf(
  { service }: Session,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ text: string; etag: string }> {
  const reply = await fetch(service.url + path, { headers });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`GET ${path} returned ${reply.status}: ${text}`);
  return { text, etag: reply.headers.get('etag') ?? '' };
}

/** Hands the answer to both servers with fixed answers. Returns their addresses. */
export async function fixedUrls(
  { express, bare }: Pick<Bench, 'express' | 'bare'>,
  answer: FixedAnswer,
): Promise<{ express: string; bare: string }> {
  const urlOf = async (side: AskedProcess) => `http://127.0.0.1:${await side.ask<number>(answer)}`;
  return { express: await urlOf(express), bare: await urlOf(bare) };
}

/**
 * Runs the three sides in alternating rounds, after one round each to warm up, and reports the medians. The service first
 * answers at least `before` requests.
 */
async function compareWithFixed(session: Session, name: string, sides: Sides, before = 0): Promise<void> {
  const { load, service, express, bare, rounds, report } = session;
  const urls = await fixedUrls(session, { name: 'unused', text: '' });
  const plans = {
    service: await load.plan(service.url, sides.service, service.pid),
    express: await load.plan(urls.express, sides.express, express.pid),
    bare: await load.plan(urls.bare, sides.bare, bare.pid),
  };
  const measured: Record<keyof Sides, LoadFigures[]> = { service: [], express: [], bare: [] };
  const round = { concurrency: CONCURRENCY, duration_ms: rounds.duration_ms };
  for (let answered = 0; answered < before; )
    answered += ((await plans.service(round)).per_second * rounds.duration_ms) / 1_000;
  for (let n = 0; n <= rounds.count; n++)
    for (const side of ['service', 'express', 'bare'] as const) {
      const figures = await plans[side](round);
      if (n > 0) measured[side].push(figures);
    }
  const rates = (side: keyof Sides): number[] => measured[side].map(({ per_second }) => per_second);
  const row: Row = {
    name,
    unit: 'per second',
    value: median(rates('service')),
    express: median(rates('express')),
    bare: median(rates('bare')),
    ratio: median(ratios(rates('service'), rates('express'))),
    cpu_us: median(measured.service.map(({ cpu_us }) => cpu_us)),
    p99_ms: median(measured.service.map(({ p99_ms }) => p99_ms)),
  };
  report.add(row);
}

export const slug = (name: string): string => name.replace(/[^a-z0-9]+/gi, '-');
