import { withTempDir } from '../../support/temp-dir';
import type { Bench } from '../embedded';
import { Service } from '../service';
import { median } from '../statistics';

const NAMES = { empty: 'start, empty', full: 'start, this size' };
const STARTS = 5;
const QUICK_STARTS = 1;

/** Measures the time from the start of the process until it is ready, with an empty folder and with the data. */
export async function measureStart({ report, data, options }: Bench): Promise<void> {
  const starts = options.quick ? QUICK_STARTS : STARTS;
  const measure = async (name: string, startOnce: () => Promise<Service['started']>): Promise<void> => {
    if (!report.wants(name)) return;
    const started: Service['started'][] = [];
    for (let n = 0; n < starts; n++) started.push(await startOnce());
    const listening_ms = median(started.map((one) => one.listening_ms));
    const value = median(started.map(({ ready_ms }) => ready_ms));
    report.add({ name, unit: 'ms', value, note: `listening after ${listening_ms.toFixed(0)} ms` });
  };
  await measure(NAMES.empty, () => withTempDir(startIn));
  await measure(NAMES.full, () => startIn(data.path));
}

async function startIn(folder: string): Promise<Service['started']> {
  const service = await Service.start(folder);
  await service.stop();
  return service.started;
}
