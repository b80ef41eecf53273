import { runCommand } from '../command';
import { rebuildDocuments } from '../data-folder';
import type { Bench, Session } from '../embedded';
import { LiveProjection } from '../live';
import { Service } from '../service';

const NAMES = {
  rebuild: 'loop held, rebuild',
  verify: 'loop held, verify',
  catch_up: 'loop held, catch-up',
};
/** Publications that are created while no service runs. */
const CREATED = 20_000;
const QUICK_CREATED = 2_000;

/** Measures how long maintenance by the command line holds the event loop of the running service. */
export async function measureMaintenance({ report, service, data }: Session): Promise<void> {
  const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    if (report.wants(name)) report.add({ name, unit: 'ms', value: await service.loopHeldMs(work) });
  };
  await measure(NAMES.rebuild, () => rebuildDocuments(data.path));
  await measure(NAMES.verify, () =>
    runCommand(['projections', 'verify', '--realm', 'live', '--json'], { DATA_DIR: data.path }),
  );
}

/** Measures the same while a service that has just started projects what was appended without it. */
export async function measureCatchUp({ report, data, options }: Bench): Promise<void> {
  if (!report.wants(NAMES.catch_up)) return;
  const offline = await LiveProjection.open({ DATA_DIR: data.path });
  try {
    await offline.append(options.quick ? QUICK_CREATED : CREATED);
  } finally {
    await offline.close();
  }
  const service = await Service.listen(data.path);
  const value = await service.loopHeldMs(() => service.ready());
  report.add({ name: NAMES.catch_up, unit: 'ms', value });
  await service.stop();
}
