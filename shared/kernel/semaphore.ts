/** Lets so many run at once; the others wait, and run in the order in which they came. */
export class Semaphore {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(at_once: number) {
    this.free = at_once;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free--;
    try {
      return await work();
    } finally {
      // The place is handed on, or given up.
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}
