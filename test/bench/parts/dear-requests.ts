import type { Session } from '../embedded';
import { cpuUs } from '../process-usage';
import { dearRequests } from '../reads';
import { median } from '../statistics';

const DEAREST = 'dearest request';
const HELD = 'loop held, dear requests';
const PREFIX = 'dear: ';

/** Measures the CPU time of the dearest requests, each sent alone, and how long they hold the event loop. */
export async function measureDearRequests(session: Session): Promise<void> {
  const { report, products, countItems, service } = session;
  if (!report.wants(DEAREST, HELD, PREFIX)) return;
  const headers = { authorization: `Bearer ${session.public_tokens[0]}` };
  let dearest = { name: '', cpu_ms: 0 };
  const requests = await dearRequests(products, countItems);
  const held_ms = await service.loopHeldMs(async () => {
    for (const { name, paths } of requests) {
      const used: number[] = [];
      let refused = '';
      for (const path of paths) {
        const before_us = cpuUs(service.pid) ?? Number.NaN;
        const reply = await fetch(service.url + path, { headers });
        await reply.arrayBuffer();
        used.push(((cpuUs(service.pid) ?? Number.NaN) - before_us) / 1_000);
        if (reply.status !== 200) refused = `answered with ${reply.status}`;
      }
      const cpu_ms = median(used);
      report.add({
        name: PREFIX + name,
        unit: 'ms of CPU',
        value: cpu_ms,
        ...(refused && { note: refused }),
      });
      if (cpu_ms > dearest.cpu_ms) dearest = { name, cpu_ms };
    }
  });
  report.add({ name: DEAREST, unit: 'ms of CPU', value: dearest.cpu_ms, note: dearest.name });
  report.add({ name: HELD, unit: 'ms', value: held_ms });
}
