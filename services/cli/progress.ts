import type { Progress as MaintenanceProgress, Phase } from '../../projections/maintenance/progress';
import type { Realm } from '../../shared/catalog/realm';

const REDRAW_MS = 100;
const BAR_CELLS = 24;

/** How far something is. `total` null: not known, so no bar and no time to go. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  /** What was done before the bar began; 0 by default. */
  readonly from?: number;
  /** Per second and in words, where `done` and `total` are not what is counted. */
  readonly rate?: number;
  readonly counted?: string;
}

export interface ProgressBar {
  show(progress: Progress): void;
  /** Takes the bar off the screen. */
  clear(): void;
}

/** What a bar is drawn on: standard error, so that standard output stays a program's. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A line that is drawn over, at most ten times a second; nothing at all where there is no terminal. */
export function progressBar(label: string, screen: Screen = process.stderr, now = Date.now): ProgressBar {
  if (screen.isTTY !== true) return { show: () => {}, clear: () => {} };
  const started_ms = now();
  let drawn_ms = Number.NEGATIVE_INFINITY;
  return {
    show(progress) {
      const now_ms = now();
      const last = progress.done === progress.total;
      if (!last && now_ms - drawn_ms < REDRAW_MS) return;
      drawn_ms = now_ms;
      screen.write(`\r${renderProgress(label, progress, now_ms - started_ms)}\u001b[K`);
    },
    clear() {
      if (drawn_ms !== Number.NEGATIVE_INFINITY) screen.write('\r\u001b[K');
    },
  };
}

/** `import  [######------]  50%  500/1,000  250/s  ETA 2 s` */
export function renderProgress(label: string, progress: Progress, elapsed_ms: number): string {
  const { done, total, from = 0 } = progress;
  const per_s = elapsed_ms > 0 ? ((done - from) * 1000) / elapsed_ms : 0;
  const speed = `${count(Math.round(progress.rate ?? per_s))}/s`;
  if (total === null) return [label, progress.counted ?? count(done), speed].join('  ');
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * BAR_CELLS);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}]`;
  const percent = `${String(Math.floor(share * 100)).padStart(3)}%`;
  const eta = per_s > 0 ? `ETA ${duration((total - done) / per_s)}` : 'ETA -';
  return [label, bar, percent, progress.counted ?? `${count(done)}/${count(total)}`, speed, eta].join('  ');
}

const count = (value: number): string => value.toLocaleString('en');

function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** A bar for each phase of a rebuild or verification. The share is of the log, the rate of its events. */
export function projectionProgress(realm: Realm): {
  show(progress: MaintenanceProgress): void;
  clear(): void;
} {
  let phase: Phase | undefined;
  let bar: ProgressBar | undefined;
  return {
    show({ phase: now, position, head, rate, events_done }) {
      if (now !== phase) {
        bar?.clear();
        bar = progressBar(`${realm}: ${now}`);
        phase = now;
      }
      const counted = `${events_done.toLocaleString('en')} events`;
      bar?.show({ done: Number(position), total: Number(head), rate, counted });
    },
    clear: () => bar?.clear(),
  };
}
