import { LRUCache } from '../../kernel/cache';
import { type Ranks, ranksFrom } from './compared-words';
import type { Generations } from './generations';

/** The most entries of all terms that are kept: 4 bytes each. */
const KEPT_ENTRIES = 4_000_000;

interface Kept {
  readonly ranks: Ranks;
  readonly generation: string;
}

/**
 * Keeps the entries of terms that searches have read, so that they need not be read again for the next publication with
 * the same word. They are used as long as no document of the store has changed.
 */
export class KeptEntries {
  private readonly generations: Pick<Generations, 'ofWords'>;
  private readonly kept = new LRUCache<string, Kept>({
    maxSize: KEPT_ENTRIES,
    sizeCalculation: ({ ranks }) => Math.max(1, ranks.length),
  });

  constructor(generations: Pick<Generations, 'ofWords'>) {
    this.generations = generations;
  }

  /**
   * Returns a function that returns the ranks that are kept under a name, or reads them. What it reads may be newer than
   * the store's generation at this call, but is never kept as that of a later one.
   */
  ofStore(store_id: string): (name: string, read: () => Promise<readonly number[]>) => Promise<Ranks> {
    const generation = this.generations.ofWords(store_id);
    return async (name, read) => {
      const kept = this.kept.get(name);
      if (kept?.generation === generation) return kept.ranks;
      const ranks = ranksFrom(await read());
      this.kept.set(name, { ranks, generation });
      return ranks;
    };
  }
}
