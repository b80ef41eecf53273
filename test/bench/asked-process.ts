import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { NODE_ARGUMENTS } from './service-process';

type Reply<Value> = { readonly value: Value } | { readonly error: string };

/** A process of this folder that answers one message at a time. */
export class AskedProcess {
  readonly child: ChildProcess;

  constructor(script: string, args: readonly string[] = []) {
    this.child = fork(join(__dirname, script), args, { execArgv: [...NODE_ARGUMENTS] });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Sends a message and returns the answer. Rejects with the error of the process, or if it has ended. */
  async ask<Value>(message: object): Promise<Value> {
    const stop = new AbortController();
    const { signal } = stop;
    const ended = once(this.child, 'exit', { signal }).then(() => {
      throw new Error('the process has ended');
    });
    ended.catch(() => {});
    this.child.send(message);
    try {
      const [reply] = (await Promise.race([once(this.child, 'message', { signal }), ended])) as [
        Reply<Value>,
      ];
      if ('error' in reply) throw new Error(reply.error);
      return reply.value;
    } finally {
      stop.abort();
    }
  }

  end(): void {
    this.child.kill('SIGKILL');
  }
}
