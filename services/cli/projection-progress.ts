import type { Phase, Progress } from '../../projections/maintenance/progress';
import type { Realm } from '../../shared/catalog/realm';
import { type ProgressBar, progressBar } from './progress';

/** A bar for each phase of a rebuild or verification. The share is of the log, the rate of its events. */
export function projectionProgress(realm: Realm): { show(progress: Progress): void; clear(): void } {
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
