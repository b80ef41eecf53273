import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import type { CallGate } from './call-gate';
import type { ReadCall } from './read-handler';

/** Messages that a connection buffers for a reader, some tens of kilobytes, before the server waits for it. */
const SENT_AHEAD_MAX = 64;

/** Sends messages to one reader, no faster than it reads them. */
export class Outbox {
  private readonly call: ReadCall;
  private readonly gate: CallGate;
  private readonly gone = new AbortController();
  sent_events = 0;
  private dumb = false;

  constructor(call: ReadCall, gate: CallGate) {
    this.call = call;
    this.gate = gate;
    call.once('cancelled', () => this.gone.abort());
    call.once('close', () => this.gone.abort());
  }

  get closed(): boolean {
    return this.gone.signal.aborted || this.call.cancelled;
  }

  /** Sends a message. Resolves when the next one may follow, at once if the reader has disconnected. */
  async send(message: ReadResp): Promise<void> {
    const { read_pause_ms } = this.gate.faults.current;
    if (read_pause_ms > 0) await sleep(read_pause_ms);
    this.post(message);
    if (!this.room) await this.drained();
  }

  /** False while the reader must read something first. */
  get room(): boolean {
    return this.closed || this.call.writableLength < SENT_AHEAD_MAX;
  }

  /** Resolves when the reader has read everything or has disconnected. */
  async drained(): Promise<void> {
    await once(this.call, 'drain', { signal: this.gone.signal }).catch(() => {});
  }

  /** Sends a message without waiting for the reader. */
  post(message: ReadResp): void {
    // A silence is permanent: messages that were not sent during it are never sent.
    const { silent, dumb_subscriptions } = this.gate.faults.current;
    this.dumb ||=
      silent || (dumb_subscriptions && this.call.request.getOptions()?.hasSubscription() === true);
    if (this.dumb || this.closed) return;
    if (message.hasEvent() && this.cutsNow()) {
      this.gate.cut(this.call);
      return;
    }
    if (message.hasEvent()) this.sent_events++;
    this.call.write(message);
  }

  end(): void {
    if (!this.dumb && !this.closed) this.call.end();
  }

  fail(error: Error): void {
    if (!this.dumb && !this.closed) this.call.emit('error', error);
  }

  private cutsNow(): boolean {
    const { cut_reads, cut_reads_after_events } = this.gate.faults.current;
    return cut_reads > 0 && this.sent_events >= cut_reads_after_events && this.gate.faults.take('cut_reads');
  }
}
