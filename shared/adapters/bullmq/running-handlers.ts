/** The handlers that a worker's stop waits for: BullMQ's own close waits for Redis, too. */
export class RunningHandlers {
  private readonly running = new Set<Promise<void>>();

  track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    const done = (): void => void this.running.delete(work);
    work.then(done, done);
    return work;
  }

  /** Resolves when none runs, those that begin meanwhile included. */
  async ended(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }
}
