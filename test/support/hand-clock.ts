import type { Clock } from '../../shared/client';

/** A clock for the client. It advances only by the client's waits and by what a test adds. */
export class HandClock implements Clock {
  now_ms: number;
  readonly waits_ms: number[] = [];

  constructor(now_ms: number = Date.UTC(2026, 0, 31, 12)) {
    this.now_ms = now_ms;
  }

  readonly now = (): number => this.now_ms;

  readonly wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    this.waits_ms.push(ms);
    this.now_ms += ms;
  };
}
