import type { CommitNotifier } from '../../shared/adapters/sqlite/commit-notifier';
import type { Realm } from '../../shared/catalog/realm';
import type { CommitNotifiers, CommittedFile } from './pipeline-runtime';

/** A commit to a file that several processes of the service have opened. Each sends its own. */
export interface Committed {
  readonly type: 'committed';
  readonly realm: Realm;
  readonly file: CommittedFile;
}

/** Must not throw. */
type SendCommit = (message: Committed) => void;

/** Exchanges notifications of commits between the stores of this process and other processes. */
export class ProcessCommits {
  private readonly listeners = new Map<string, () => void>();

  constructor(private readonly send: SendCommit) {}

  readonly notifiers: CommitNotifiers = (realm, file): CommitNotifier => ({
    publish: () => this.send({ type: 'committed', realm, file }),
    listen: (onCommit) => void this.listeners.set(`${realm} ${file}`, onCommit),
  });

  /** Wakes the readers of the file in this process. */
  readonly receive: SendCommit = ({ realm, file }) => this.listeners.get(`${realm} ${file}`)?.();
}

/** Passes each notification of a process to all others that are connected. */
export class CommitRelay {
  private readonly receivers = new Set<SendCommit>();

  /** Adds a process. Returns the function to call with what this process sends. */
  connect(receive: SendCommit): SendCommit {
    this.receivers.add(receive);
    return (message) => {
      for (const other of this.receivers) if (other !== receive) other(message);
    };
  }

  /** Removes the process that was connected with this function. */
  disconnect(receive: SendCommit): void {
    this.receivers.delete(receive);
  }

  /** Connects the stores of this process. */
  ownNotifiers(): CommitNotifiers {
    const own = new ProcessCommits((message) => send(message));
    const send = this.connect(own.receive);
    return own.notifiers;
  }
}
