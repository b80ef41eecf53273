import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';

/**
 * Loaded into a process before it starts (`node --require`): it is killed -9 when it is about to append an event of the
 * type `DIE_BEFORE_APPEND_OF`, with all that it did before on disk.
 */
const { DIE_BEFORE_APPEND_OF } = process.env;
const append = SqliteEventStore.prototype.append;

SqliteEventStore.prototype.append = async function dieOrAppend(this: SqliteEventStore, ...given) {
  if (given[2].some(({ type }) => type === DIE_BEFORE_APPEND_OF)) {
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  }
  return append.apply(this, given);
};
