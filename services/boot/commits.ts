import type { CommitNotifier } from '../../shared/adapters/sqlite/commit-notifier';
import type { Realm } from '../../shared/catalog/realm';

/** A commit to a file that several processes of the service have opened. */
export interface Commit {
  readonly realm: Realm;
  readonly file: 'log' | 'documents';
}

type OnCommit = (commit: Commit) => void;

/** Exchanges notifications of commits between the stores of this process and other processes. */
export class Commits {
  private readonly own = new Map<string, () => void>();
  private readonly others = new Set<OnCommit>();

  /** Returns the notifier of a file, for a store of this process. */
  readonly notifierOf = (realm: Realm, file: Commit['file']): CommitNotifier => ({
    publish: () => this.pass({ realm, file }),
    listen: (onCommit) => void this.own.set(`${realm} ${file}`, onCommit),
  });

  /**
   * Adds a process. `send` passes a notification to it and must not throw. `receive` takes those that it sends, and
   * passes them to the stores of this process and to the other processes.
   */
  connect(send: OnCommit): { readonly receive: OnCommit; readonly disconnect: () => void } {
    this.others.add(send);
    const receive: OnCommit = (commit) => {
      this.own.get(`${commit.realm} ${commit.file}`)?.();
      this.pass(commit, send);
    };
    return { receive, disconnect: () => this.others.delete(send) };
  }

  private pass(commit: Commit, from?: OnCommit): void {
    for (const send of this.others) if (send !== from) send(commit);
  }
}
