import { type RunningProcess, startProcess } from './processes';

export const MAINS = {
  command: 'services/boot/main.js command',
  query: 'services/boot/main.js query',
  worker: 'services/boot/main.js worker',
} as const;

/** The kind of process and its number, such as `worker-2`. */
export type MemberName = `${keyof typeof MAINS}-${number}`;

/** The processes of one installation, by name. Each can be stopped and started again. */
export class Fleet {
  private readonly settings: Record<string, string>;
  private readonly members = new Map<MemberName, RunningProcess>();

  private readonly all: RunningProcess[] = [];

  /** `settings`: environment variables of all processes, on top of those of this process. */
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

  /** Log lines of all processes about requests that failed with an internal error. */
  get faults(): string[] {
    return this.all.flatMap(({ faults }) => faults);
  }

  url(name: MemberName): string {
    const member = this.members.get(name);
    if (!member) throw new Error(`${name} does not run`);
    return member.url;
  }

  /** Sends the signal and returns the exit code, null after SIGKILL. */
  async end(name: MemberName, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const member = this.members.get(name);
    this.members.delete(name);
    if (!member) throw new Error(`${name} does not run`);
    return member.end(signal);
  }

  /** Stops all running processes at once. Returns their exit codes. */
  async stop(): Promise<Record<string, number | null>> {
    const names = [...this.members.keys()];
    const codes = await Promise.all(names.map((name) => this.end(name, 'SIGTERM')));
    return Object.fromEntries(names.map((name, index) => [name, codes[index]!]));
  }
}
