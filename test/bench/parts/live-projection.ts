import type { Session } from '../embedded';
import { LiveProjection } from '../live';
import { median, quantile } from '../statistics';

const READABLE = 'acknowledged to readable';
const LIVE = 'live projection';
const HELD = 'loop held, live projection';
const BURST = 4_000;

/** Measures the time from the answer to a write until a read shows it. */
export async function measureReadable(session: Session): Promise<void> {
  const { report, service, secret_token, data, options } = session;
  if (!report.wants(READABLE)) return;
  const authorization = `Bearer ${secret_token}`;
  const headers = { authorization, 'content-type': 'application/json', prefer: 'respond-async' };
  const times: number[] = [];
  for (let n = 0; n < (options.quick ? 20 : 200); n++) {
    const fields = { title: `Readable ${n}`, price_currency: 'USD', price_amount: n };
    const body = JSON.stringify({ ...fields, store_id: data.catalog.writes.id });
    const written = await fetch(`${service.url}/api/publication`, { method: 'POST', headers, body });
    const { data: created } = (await written.json()) as { data: { id: string } };
    const position = written.headers.get('x-catalog-position')!;
    const acknowledged_ms = performance.now();
    const read = await fetch(`${service.url}/api/publication/${created.id}`, {
      headers: { authorization, 'x-catalog-min-position': position },
    });
    if (read.status !== 200) throw new Error(`the publication was not readable: ${read.status}`);
    times.push(performance.now() - acknowledged_ms);
  }
  report.add({ name: READABLE, unit: 'ms', value: median(times), p99_ms: quantile(times, 0.99) });
}

/** Measures how fast the running service projects events that another process appends. */
export async function measureLive({ report, service, data, options }: Session): Promise<void> {
  if (!report.wants(LIVE, HELD)) return;
  const live = await LiveProjection.open({ DATA_DIR: data.path });
  try {
    const rates: number[] = [];
    const held_ms = await service.loopHeldMs(async () => {
      for (let n = 0; n < 3; n++) rates.push(await live.burst(options.quick ? BURST / 8 : BURST));
    });
    report.add({ name: LIVE, unit: 'events/s', value: median(rates) });
    report.add({ name: HELD, unit: 'ms', value: held_ms });
  } finally {
    await live.close();
  }
}
