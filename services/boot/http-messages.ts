import type { MetricsText } from '../../shared/http/metrics';
import type { ReadyState } from '../../shared/http/operational';
import { withTimeout } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { MediaTask } from '../../shared/ports/media-tasks';
import type { MetricsSnapshot } from '../metrics/service-metrics';
import type { Committed } from './commit-relay';

/* The messages between the main process of the service and its HTTP processes (`http-processes.ts`, `main-http.ts`). */

/** What the main process sends. `start` comes once, before all others; only `stop` may come without it. */
export type ToHttp =
  | {
      readonly type: 'start';
      readonly config: Config;
      /** The number of the process, from 1. A restarted process has the same one. */
      readonly number: number;
      readonly has_traces: boolean;
      /** Whether the processes notify each other of commits. */
      readonly shares_commits: boolean;
    }
  | { readonly type: 'stop' }
  | Committed
  | Question
  | Answer;

/** What an HTTP process sends. */
export type FromHttp =
  | { readonly type: 'listening'; readonly url: string }
  /** It could not start. `message` is for the operator. */
  | { readonly type: 'failed'; readonly message: string; readonly is_configuration: boolean }
  /** A file has turned out to be damaged. */
  | { readonly type: 'damaged'; readonly file: string; readonly message: string }
  | { readonly type: 'media_task'; readonly task: MediaTask }
  | Committed
  | Question
  | Answer;

/** What processes ask each other: `own_*` an HTTP process about itself, the others the main process about all. */
export interface Answers {
  readonly ready: ReadyState;
  readonly metrics: MetricsText;
  /** Whether the process answers at all. */
  readonly own_life: true;
  readonly own_ready: ReadyState;
  readonly own_metrics: MetricsSnapshot;
}

export interface Question {
  readonly type: 'question';
  readonly call: number;
  readonly name: keyof Answers;
}

/** `value` is undefined if the question could not be answered. */
export interface Answer {
  readonly type: 'answer';
  readonly call: number;
  readonly value: Answers[keyof Answers] | undefined;
}

/** The questions that this process has sent over a channel. */
export class Questions {
  private readonly waiting = new Map<number, (value: Answer['value']) => void>();
  private next_call = 1;
  private closed = false;

  constructor(private readonly send: (question: Question) => void) {}

  /** Resolves to undefined if there is no answer within `timeout_ms`, or before `close`. */
  async ask<Name extends keyof Answers>(name: Name, timeout_ms: number): Promise<Answers[Name] | undefined> {
    if (this.closed) return undefined;
    const call = this.next_call++;
    const answer = new Promise<Answer['value']>((resolve) => this.waiting.set(call, resolve));
    this.send({ type: 'question', call, name });
    const answered = withTimeout(answer, timeout_ms, () => undefined).finally(() =>
      this.waiting.delete(call),
    );
    return answered as Promise<Answers[Name] | undefined>;
  }

  receive({ call, value }: Answer): void {
    this.waiting.get(call)?.(value);
  }

  /** The other process has ended. */
  close(): void {
    this.closed = true;
    for (const resolve of this.waiting.values()) resolve(undefined);
  }
}

/** Returns the answer to send. */
export async function answerTo({ call }: Question, value: Promise<Answer['value']>): Promise<Answer> {
  return { type: 'answer', call, value: await value.catch(() => undefined) };
}
