import { type RunningProcess, startProcess } from './processes';

export const MAINS = {
  command: 'services/boot/main-command.js',
  query: 'services/boot/main-query.js',
  worker: 'services/boot/main-worker.js',
} as const;

/** `worker-2` and the like: what it is, and which one. */
export type MemberName = `${keyof typeof MAINS}-${number}`;

/** Processes of one installation, by name; each can be ended and started again. */
export class Fleet {
  private readonly settings: Record<string, string>;
  private readonly members = new Map<MemberName, RunningProcess>();

  private readonly all: RunningProcess[] = [];

  /** `settings` is the environment that all have in common, over that of this process. */
  constructor(settings: Record<string, string>) {
    this.settings = settings;
  }

  async start(...names: readonly MemberName[]): Promise<void> {
    const starting = names.map(async (name) => {
      const kind = name.split('-')[0] as keyof typeof MAINS;
      const started = await startProcess(MAINS[kind], this.settings);
      this.members.set(name, started);
      this.all.push(started);
    });
    await Promise.all(starting);
  }

  /** What any of them logged of requests that it answered by an internal error. */
  get faults(): string[] {
    return this.all.flatMap(({ faults }) => faults);
  }

  url(name: MemberName): string {
    const member = this.members.get(name);
    if (!member) throw new Error(`${name} does not run`);
    return member.url;
  }

  /** The exit code; null after a kill. */
  async end(name: MemberName, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const member = this.members.get(name);
    this.members.delete(name);
    if (!member) throw new Error(`${name} does not run`);
    return member.end(signal);
  }

  /** The exit codes of all that run, stopped at once. */
  async stop(): Promise<Record<string, number | null>> {
    const names = [...this.members.keys()];
    const codes = await Promise.all(names.map((name) => this.end(name, 'SIGTERM')));
    return Object.fromEntries(names.map((name, index) => [name, codes[index]!]));
  }
}
