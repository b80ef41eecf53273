import { ProcessMetrics } from '../../../services/metrics/process-metrics';
import { ServiceMetrics } from '../../../services/metrics/service-metrics';

const finish = (metrics: ServiceMetrics, requests: number): void => {
  for (let n = 0; n < requests; n++)
    metrics.requestFinished({ method: 'GET', route: '/api/store', status: 200, duration_ms: 3 });
};

/** Returns a function that reads samples of the sum by their name and labels. */
async function samplesOf(
  sum: ProcessMetrics<string>,
  own: ServiceMetrics,
  others: Readonly<Record<string, ServiceMetrics>>,
): Promise<(sample: string) => number | undefined> {
  const snapshots = await Promise.all(
    Object.entries(others).map(async ([name, metrics]) => [name, await metrics.snapshot()] as const),
  );
  const { body } = await sum.sum(await own.snapshot(), new Map(snapshots));
  const lines = body.split('\n').map((line) => line.split(/ (?=\S+$)/) as [string, string]);
  const samples = new Map(lines);
  return (sample) => (samples.has(sample) ? Number(samples.get(sample)) : undefined);
}

const REQUESTS = 'catalog_http_requests_total{method="GET",route="/api/store",status="200"}';
const DURATIONS = 'catalog_http_request_duration_seconds_count{method="GET",route="/api/store"}';

test('counters and histograms are sums, and never fall when a process ends and is started again', async () => {
  const sum = new ProcessMetrics<string>();
  const [main, first, second] = [new ServiceMetrics(), new ServiceMetrics(), new ServiceMetrics()];
  finish(first, 2);
  finish(second, 3);
  let samples = await samplesOf(sum, main, { first, second });
  expect([samples(REQUESTS), samples(DURATIONS)]).toEqual([5, 5]);

  for (let restarts = 1; restarts <= 2; restarts++) {
    sum.end('first');
    samples = await samplesOf(sum, main, { second });
    expect([samples(REQUESTS), samples(DURATIONS)]).toEqual([3 + 2 * restarts, 3 + 2 * restarts]);
    const restarted = new ServiceMetrics();
    finish(restarted, 2);
    samples = await samplesOf(sum, main, { first: restarted, second });
    expect([samples(REQUESTS), samples(DURATIONS)]).toEqual([5 + 2 * restarts, 5 + 2 * restarts]);
  }
});

test('views that wait are those of the processes that run', async () => {
  const sum = new ProcessMetrics<string>();
  const [main, first] = [new ServiceMetrics(), new ServiceMetrics()];
  first.setPageViewCount(() => 7);
  expect((await samplesOf(sum, main, { first }))('catalog_views_waiting')).toBe(7);
  sum.end('first');
  expect((await samplesOf(sum, main, {}))('catalog_views_waiting')).toBe(0);
});

test('what only the main process reads is as it says, and missing if it could not read it', async () => {
  const sum = new ProcessMetrics<string>();
  const [main, first] = [new ServiceMetrics(), new ServiceMetrics()];
  main.setSources({ pipelines: async () => [], ready: async () => true, disk: async () => undefined });
  main.collectProcessMetrics();
  const samples = await samplesOf(sum, main, { first });
  expect([samples('catalog_ready'), samples('catalog_data_dir_free_bytes')]).toEqual([1, undefined]);
  expect(samples('process_start_time_seconds')).toBeGreaterThan(0);
});
