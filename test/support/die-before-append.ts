import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';

/**
 * Preloaded into a process (`node --require`). Kills it with SIGKILL when it is about to append an event of the type
 * `DIE_BEFORE_APPEND_OF`. Everything that it did before is stored.
 */
const { DIE_BEFORE_APPEND_OF } = process.env;
const append = SqliteEventStore.prototype.append;

SqliteEventStore.prototype.append = async function dieOrAppend(this: SqliteEventStore, ...args) {
  if (args[2].some(({ type }) => type === DIE_BEFORE_APPEND_OF)) {
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  }
  return append.apply(this, args);
};
