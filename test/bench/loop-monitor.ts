import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** How often the monitor's timer runs. A hold shorter than this is not seen. */
const RESOLUTION_MS = 1;

/**
 * Preloaded into the service (`node -r`). The first SIGUSR2 starts measuring how long the event loop is held, the second
 * writes the longest time in ms to BENCH_LOOP_FILE, followed by the id of the process. Costs nothing before the first
 * signal. Only the main thread is measured, because it serves HTTP.
 */
function monitorOnSignal(file: string): void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let is_measuring = false;
  process.on('SIGUSR2', () => {
    is_measuring = !is_measuring;
    if (is_measuring) {
      delays.reset();
      delays.enable();
      return;
    }
    delays.disable();
    const longest_ms = Math.max(0, delays.max / 1e6 - RESOLUTION_MS);
    writeFileSync(`${file}.${process.pid}`, String(longest_ms));
  });
}

const file = process.env.BENCH_LOOP_FILE;
if (isMainThread && file !== undefined) monitorOnSignal(file);
