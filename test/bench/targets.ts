/** What a row must reach. `of` names the figure that is compared. */
export interface Target {
  readonly of: 'ratio' | 'value';
  readonly at_least?: number;
  readonly at_most?: number;
  /** Whether the target only applies to the catalog of a million publications. */
  readonly only_million?: true;
}

/** Targets of the service with embedded stores on two cores, by name of the row. */
export const TARGETS: Readonly<Record<string, Target>> = {
  'by id': { of: 'ratio', at_least: 1.5 },
  'page of 20': { of: 'ratio', at_least: 1.5 },
  '304': { of: 'ratio', at_least: 1.5 },
  'by id, expanded': { of: 'ratio', at_least: 1 },
  'page of 50, expanded': { of: 'ratio', at_least: 1 },
  'page of 20, deep': { of: 'ratio', at_least: 1 },
  'storefront walk': { of: 'ratio', at_least: 0.8 },
  'search, common word': { of: 'ratio', at_least: 0.5 },
  'search, typo': { of: 'ratio', at_least: 0.3 },
  related: { of: 'ratio', at_least: 0.5 },
  'UCP search, hot': { of: 'ratio', at_least: 0.77 },
  'UCP search, cold': { of: 'ratio', at_least: 0.77 },
  'feed google.xml': { of: 'value', at_least: 5_000 },
  'feed meta.csv': { of: 'value', at_least: 5_000 },
  'feed acp.jsonl': { of: 'value', at_least: 5_000 },
  'dearest request': { of: 'value', at_most: 25 },
  'loop held, dear requests': { of: 'value', at_most: 10 },
  'loop held, live projection': { of: 'value', at_most: 10 },
  'loop held, import': { of: 'value', at_most: 10 },
  'loop held, catch-up': { of: 'value', at_most: 10 },
  'loop held, rebuild': { of: 'value', at_most: 10 },
  'loop held, verify': { of: 'value', at_most: 10 },
  'writes, 64 at once': { of: 'ratio', at_least: 0.5 },
  'writes, 64 at once, of one at a time': { of: 'value', at_least: 5 },
  rebuild: { of: 'value', at_least: 40_000 },
  'rebuild, peak memory': { of: 'value', at_most: 400 },
  'import, server running': { of: 'value', at_least: 10_000 },
  'import, no server': { of: 'value', at_least: 10_000 },
  'import, peak memory': { of: 'value', at_most: 250 },
  'documents on disk': { of: 'value', at_most: 2_500 },
  'memory after the walk': { of: 'value', at_most: 250 },
  'start, empty': { of: 'value', at_most: 800 },
  'start, this size': { of: 'value', at_most: 2_000, only_million: true },
  'log growth of reads': { of: 'value', at_most: 5 },
};

/** How much lower the ratio of a read may be than the one with 1,000 publications. */
export const SLOWDOWN_MAX = 1.5;

/** Whether the figure reaches the target. */
export function isMet(
  { at_least = Number.NEGATIVE_INFINITY, at_most = Number.POSITIVE_INFINITY }: Target,
  figure: number,
): boolean {
  return figure >= at_least && figure <= at_most;
}
