export type SessionStatus = 'starting' | 'signed_out' | 'signed_in' | 'ended';

/** Whether somebody is signed in: for the pages, and for the requests that wait until somebody is. */
export class SessionState {
  private status: SessionStatus = 'starting';
  private readonly listeners = new Set<() => void>();

  readonly read = (): SessionStatus => this.status;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  set(next: SessionStatus): void {
    if (this.status === next) return;
    this.status = next;
    for (const listener of [...this.listeners]) listener();
  }

  /** Resolves at the next sign-in. */
  signedIn(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.subscribe(() => {
        if (this.status !== 'signed_in') return;
        stop();
        resolve();
      });
    });
  }
}
