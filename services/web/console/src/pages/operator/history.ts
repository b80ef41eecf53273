import { type Health, REALMS, type Realm } from './api';

/* What the health page has read in the last minutes, for its plots. A page that is opened again goes on with it. */

export const EVERY_MS = 2_000;
export const WINDOW_S = 300;
/** Between two values that are further apart, the plot has a gap. */
const GAP_S = 10;

/** One value per time. Null: the service did not answer, or its store could not be read. */
export interface History {
  readonly at_s: readonly number[];
  /** Largest lag of the partitions. */
  readonly lag: readonly (number | null)[];
  /** Log positions per second. */
  readonly appended: readonly (number | null)[];
  /** Log positions per second that all partitions have passed. */
  readonly projected: readonly (number | null)[];
}

interface Sample {
  readonly at_s: number;
  readonly realms?: Partial<Record<Realm, { head: number; projected: number; lag: number }>>;
}

let samples: readonly Sample[] = [];

/** Adds what was read; undefined if the service did not answer. */
export function addSample(health: Health | undefined): void {
  const at_s = Date.now() / 1_000;
  const last = samples.at(-1);
  const gap = last && at_s - last.at_s > GAP_S ? [{ at_s: last.at_s + 1 }] : [];
  const kept = samples.filter((each) => each.at_s > at_s - WINDOW_S);
  samples = [...kept, ...gap, { at_s, ...(health && { realms: valuesOf(health) }) }];
}

const valuesOf = (health: Health): Sample['realms'] =>
  Object.fromEntries(
    REALMS.flatMap((realm) => {
      const { head, position, lag } = health.realms[realm];
      if (!head || !position?.length || !lag) return [];
      const projected = Math.min(...position.map(Number));
      return [[realm, { head: Number(head), projected, lag: Math.max(...lag.map(Number)) }]];
    }),
  );

export function historyOf(realm: Realm): History {
  const rateOf = (name: 'head' | 'projected') => (sample: Sample, index: number) => {
    const [now, before] = [sample.realms?.[realm], samples[index - 1]];
    const last = before?.realms?.[realm];
    return now && last ? Math.max(0, now[name] - last[name]) / (sample.at_s - before!.at_s) : null;
  };
  return {
    at_s: samples.map(({ at_s }) => at_s),
    lag: samples.map(({ realms }) => realms?.[realm]?.lag ?? null),
    appended: samples.map(rateOf('head')),
    projected: samples.map(rateOf('projected')),
  };
}
