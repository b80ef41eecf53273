import type { Progress as MaintenanceProgress, Step } from '../../projections/maintenance/progress';
import type { Realm } from '../../shared/catalog/realm';

const REDRAW_MS = 100;
const BAR_CELLS = 24;

/** How far a piece of work has come. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  /** The value of `done` when the bar was created; default 0. The speed is computed from it. */
  readonly from?: number;
  /** Items per second, if `done` and `total` count something other than items (log positions). */
  readonly rate?: number;
  /** The text to show instead of `done/total`, such as `1,200 events`. */
  readonly counted?: string;
}

export interface ProgressBar {
  show(progress: Progress): void;
  /** Removes the bar from the screen. */
  clear(): void;
}

/** Where a bar is drawn. By default standard error, so that standard output contains only the result. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Creates a progress bar. It redraws at most ten times per second, and prints nothing if the screen is not a TTY. */
export function progressBar(label: string, screen: Screen = process.stderr, now = Date.now): ProgressBar {
  if (screen.isTTY !== true) return { show: () => {}, clear: () => {} };
  const started_ms = now();
  let drawn_ms = Number.NEGATIVE_INFINITY;
  return {
    show(progress) {
      const now_ms = now();
      const is_last = progress.done === progress.total;
      if (!is_last && now_ms - drawn_ms < REDRAW_MS) return;
      drawn_ms = now_ms;
      screen.write(`\r${renderProgress(label, progress, now_ms - started_ms)}\u001b[K`);
    },
    clear() {
      if (drawn_ms !== Number.NEGATIVE_INFINITY) screen.write('\r\u001b[K');
    },
  };
}

/** Shows a progress bar while `work` runs, which reports how much is done, and of how much. */
export async function withProgressBar<Result>(
  label: string,
  work: (on_progress: (done: number, total: number) => void) => Promise<Result>,
): Promise<Result> {
  const bar = progressBar(label);
  return work((done, total) => bar.show({ done, total })).finally(bar.clear);
}

/** Renders one line such as `import  [######------]  50%  500/1,000  250/s  ETA 2 s`. */
export function renderProgress(label: string, progress: Progress, elapsed_ms: number): string {
  const { done, total, from = 0 } = progress;
  const per_s = elapsed_ms > 0 ? ((done - from) * 1000) / elapsed_ms : 0;
  const speed = `${count(Math.round(progress.rate ?? per_s))}/s`;
  const fraction = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(fraction * BAR_CELLS);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}]`;
  const percent = `${String(Math.floor(fraction * 100)).padStart(3)}%`;
  const eta = per_s > 0 ? `ETA ${duration((total - done) / per_s)}` : 'ETA -';
  return [label, bar, percent, progress.counted ?? `${count(done)}/${count(total)}`, speed, eta].join('  ');
}

const count = (value: number): string => value.toLocaleString('en');

function duration(seconds: number): string {
  const whole_seconds = Math.max(0, Math.ceil(seconds));
  if (whole_seconds < 60) return `${whole_seconds} s`;
  if (whole_seconds < 3600) return `${Math.floor(whole_seconds / 60)} min ${whole_seconds % 60} s`;
  return `${Math.floor(whole_seconds / 3600)} h ${Math.floor((whole_seconds % 3600) / 60)} min`;
}

/** Creates a bar for each step of a rebuild or verification. The bar shows log positions, the rate counts events. */
export function projectionProgress(realm: Realm): {
  show(progress: MaintenanceProgress): void;
  clear(): void;
} {
  let shown_step: Step | undefined;
  let bar: ProgressBar | undefined;
  return {
    show({ step, position, head, rate, events_done, indexes }) {
      if (step !== shown_step) {
        bar?.clear();
        bar = progressBar(`${realm}: ${step}`);
        shown_step = step;
      }
      if (indexes) {
        const { built, total } = indexes;
        bar?.show({ done: built, total, counted: `${built}/${total} indexes` });
        return;
      }
      const counted = `${events_done.toLocaleString('en')} events`;
      bar?.show({ done: Number(position), total: Number(head), rate, counted });
    },
    clear: () => bar?.clear(),
  };
}
