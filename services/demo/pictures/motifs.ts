import * as goods from './goods';
import * as paper from './paper';
import type { Motif } from './shapes';
import * as tableware from './tableware';

/** Everything that can be drawn, by name. */
export const motifs = { ...tableware, ...goods, ...paper } satisfies Record<string, Motif>;

export type MotifName = keyof typeof motifs;
