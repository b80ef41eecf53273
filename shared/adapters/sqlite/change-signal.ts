/** How soon another process's commit is noticed. */
const POLL_MS = 25;

/**
 * Tells its listeners that a file may have changed: at once after a commit of this process (`notify`), and within
 * 25 ms after one of any other. It polls only while somebody listens. A call may be for nothing; none is missed
 * where a listener was there before its owner last read.
 */
export class ChangeSignal {
  private readonly dataVersion: () => number;
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  private seen: number | undefined;

  constructor(dataVersion: () => number) {
    this.dataVersion = dataVersion;
  }

  /** Gives a function that ends the listening. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.startPolling();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stopPolling();
    };
  }

  notify(): void {
    for (const listener of [...this.listeners]) listener();
  }

  private startPolling(): void {
    this.seen = this.read();
    this.timer = setInterval(() => {
      const now = this.read();
      if (now !== undefined && now === this.seen) return;
      this.seen = now;
      this.notify();
    }, POLL_MS);
  }

  private stopPolling(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Undefined where the file cannot be read: the listeners are woken and meet the failure themselves. */
  private read(): number | undefined {
    try {
      return this.dataVersion();
    } catch {
      return undefined;
    }
  }
}
