import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { join } from 'node:path';
import { backoff, pause, withTimeout } from './async';

/*
 * Processes that a process of the service starts, and the channel between both. `services/boot/main.ts` lists the roles.
 */

/** The main file of all roles. */
const MAIN_FILE = join(__dirname, '../../services/boot/main.js');

/** A call of the other process. With `call`, it expects an answer. */
type Call = { readonly name: string; readonly argument: unknown; readonly call?: number };
/** `value` is undefined if the call failed. */
type Answer = { readonly answer: number; readonly value: unknown };

type Endpoint = Pick<NodeJS.Process, 'connected' | 'send'> & {
  on(event: 'message', listener: (message: Call | Answer) => void): unknown;
};

type ArgumentOf<Call> = Call extends (argument: infer Argument) => unknown ? Argument : never;
type AnswerOf<Call> = Call extends (argument: never) => infer Result ? Awaited<Result> : never;

/**
 * A channel to another process, over which each calls functions of the other. `Theirs` declares the functions of the
 * other process, which have one argument. `handlers` has those of this one. Arguments and results must be cloneable.
 */
export class Channel<Theirs extends object> {
  private readonly waiting = new Map<number, (value: unknown) => void>();
  private calls = 0;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly handlers: object | Promise<object>,
  ) {
    endpoint.on('message', (message) => void this.receive(message));
  }

  /** Calls a function without waiting for its result. Ignores a process that has ended. */
  tell<Name extends keyof Theirs & string>(name: Name, argument: ArgumentOf<Theirs[Name]>): void {
    this.send({ name, argument });
  }

  /** Resolves to undefined if the call fails, if the process ends, or after `timeout_ms` (default: never). */
  async ask<Name extends keyof Theirs & string>(
    name: Name,
    argument: ArgumentOf<Theirs[Name]>,
    timeout_ms?: number,
  ): Promise<AnswerOf<Theirs[Name]> | undefined> {
    if (!this.endpoint.connected) return undefined;
    const call = ++this.calls;
    const answer = new Promise<unknown>((resolve) => this.waiting.set(call, resolve));
    this.send({ name, argument, call });
    const limited = timeout_ms === undefined ? answer : withTimeout(answer, timeout_ms, () => undefined);
    const value = await limited;
    this.waiting.delete(call);
    return value as AnswerOf<Theirs[Name]> | undefined;
  }

  /** Answers all calls that wait with undefined: the other process has ended. */
  protected close(): void {
    for (const resolve of this.waiting.values()) resolve(undefined);
  }

  private async receive(message: Call | Answer): Promise<void> {
    if ('answer' in message) return this.waiting.get(message.answer)?.(message.value);
    const { name, argument, call } = message;
    let value: unknown;
    try {
      const handlers = (await this.handlers) as Record<string, ((argument: unknown) => unknown) | undefined>;
      value = await handlers[name]?.(argument);
    } catch {
      value = undefined;
    }
    if (call !== undefined) this.send({ answer: call, value });
  }

  private send(message: Call | Answer): void {
    // The callback takes the error of a channel that closes meanwhile.
    if (this.endpoint.connected) this.endpoint.send!(message, undefined, undefined, () => {});
  }
}

/** The calls of a process that its parent can make. */
export interface ChildCalls {
  stop(): Promise<void>;
}

/** The calls of its parent that a process can make. */
export type ParentCalls<Options> = {
  options(): Options;
  /** The process cannot start. */
  failed(reason: string): void;
};

/** A process that this one has started. */
export class Child<Theirs extends object> extends Channel<Theirs & ChildCalls> {
  /** Resolves when the process has ended or could not be started, with the reason. */
  readonly ended: Promise<string>;

  private constructor(
    readonly process: ChildProcess,
    handlers: object,
    options: object | undefined,
  ) {
    let failure: string | undefined;
    const failed = (reason: string): void => {
      failure = reason;
    };
    super(process as ChildProcess & Endpoint, { ...handlers, failed, options: () => options });
    this.ended = new Promise((resolve) => {
      // Without a listener, an error would end this process.
      process.on('error', (error) => process.pid === undefined && resolve(error.message));
      // `close` comes after the last message. `exit` may come before it.
      process.once('close', (code, signal) => resolve(failure ?? signal ?? `exit code ${code}`));
    });
    void this.ended.then(() => this.close());
  }

  /** Starts a role of the main file. The process asks for `options` when it has loaded its modules. */
  static start<Theirs extends object>(
    role: string,
    handlers: object,
    { options, ...fork_options }: ForkOptions & { readonly options?: object } = {},
  ): Child<Theirs> {
    const stdio: ForkOptions['stdio'] = ['ignore', 'inherit', 'inherit', 'ipc'];
    const started = fork(MAIN_FILE, [role], { serialization: 'advanced', stdio, ...fork_options });
    return new Child(started, handlers, options);
  }

  /** Tells the process to finish what runs and end. Kills it after `timeout_ms`. */
  async stop(timeout_ms: number): Promise<void> {
    (this as Channel<ChildCalls>).tell('stop', undefined);
    await withTimeout(this.ended, timeout_ms, () => this.process.kill('SIGKILL'));
    await this.ended;
  }
}

const restartMs = backoff(100, 10_000);
/** A process that ran for this long had no problem with its start, so the next restart is fast again. */
const COUNTS_AS_STARTED_MS = 60_000;

/**
 * Keeps a process running until `stop`. Starts it again after each crash: first after 100 ms, then after twice as long, up
 * to 10 s.
 */
export class Supervisor<Theirs extends object> {
  /** Undefined while no process runs. */
  child: Child<Theirs> | undefined;
  private readonly stopping = new AbortController();
  private readonly ended: Promise<void>;

  constructor(
    private readonly start: () => Child<Theirs>,
    private readonly onCrash: (crash: { readonly failure: string; readonly restart_in_ms: number }) => void,
  ) {
    this.ended = this.run();
  }

  /** Ends the process (see `Child.stop`). */
  async stop(timeout_ms: number): Promise<void> {
    this.stopping.abort();
    await this.child?.stop(timeout_ms);
    await this.ended;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let crashes = 1; !signal.aborted; crashes++) {
      const started_at_ms = performance.now();
      const failure = await this.runOnce().catch((error: Error) => error.message);
      this.child = undefined;
      if (signal.aborted) return;
      if (performance.now() - started_at_ms > COUNTS_AS_STARTED_MS) crashes = 1;
      const restart_in_ms = restartMs(crashes);
      this.onCrash({ failure, restart_in_ms });
      await pause(restart_in_ms, signal);
    }
  }

  /** Runs the process until it ends. Returns the reason. */
  private async runOnce(): Promise<string> {
    this.child = this.start();
    return this.child.ended;
  }
}

/**
 * Ends this process when the one that started it has ended, also by SIGKILL. Ignores stop signals: a terminal and some
 * supervisors send them to all processes of the service, and the parent decides when this one ends. If an operator has
 * started this process, exits with a message.
 */
export function endWithParent(): void {
  if (!process.connected) {
    process.stderr.write('The service starts this program itself. Run "npm start" instead.\n');
    process.exit(1);
  }
  onStopSignal(() => {});
  // `process.exit` would wait for the threads of libvips.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}

/** Replaces the handler of stop signals. Adds the new one first: without any, Node drops a signal that has arrived. */
export function onStopSignal(handle: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const former = process.listeners(signal);
    process.on(signal, handle);
    for (const listener of former) process.off(signal, listener);
  }
}
