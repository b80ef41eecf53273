import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freezeProcess } from '../freeze-process';
import { within } from '../wait-for';

/** The stand-in as a separate process, which can be killed, stopped and started again on the same log. */
export class StandInProcess {
  private readonly folder: string;
  private child: ChildProcess | undefined;
  /** Stays the same after a restart. */
  private port = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.port}?tls=false`;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const script = join(__dirname, 'main.js');
    const options = ['--data', this.folder, '--port', String(this.port)];
    const child = spawn(process.execPath, [script, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child = child;
    const listening = once(createInterface(child.stdout!), 'line') as Promise<[string]>;
    const [line] = await within(listening, 'the stand-in to listen');
    this.port = Number(/:(\d+)\?/.exec(line)?.[1]);
  }

  async freeze(): Promise<void> {
    if (this.child?.pid) await freezeProcess(this.child.pid);
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  /** Resolves when the process has exited. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await within(gone, `the stand-in to exit after ${signal}`);
  }
}
