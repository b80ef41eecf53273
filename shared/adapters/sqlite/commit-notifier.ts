/**
 * Notifies another process that has opened the same file of commits, so that its waiting readers continue at once. This
 * only saves time: without a notification, waiting readers notice a commit when they poll the file.
 */
export interface CommitNotifier {
  /** Notifies the other process of a commit of this process. Never throws, and does not wait. */
  publish(): void;
  /** Calls `onCommit` for each commit of the other process from now on. */
  listen(onCommit: () => void): void;
}
