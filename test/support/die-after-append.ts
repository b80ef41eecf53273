import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';

/**
 * Loaded into a server process before it starts (`node --require`): the process is killed -9 the moment an event that
 * carries this idempotency key is on disk, before anybody is told.
 */
const key = process.env.DIE_AFTER_APPEND_OF;
const append = SqliteEventStore.prototype.append;

SqliteEventStore.prototype.append = async function appendAndDie(this: SqliteEventStore, ...given) {
  const result = await append.apply(this, given);
  if (given[2].some(({ metadata }) => metadata.idempotency_key === key)) {
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  }
  return result;
};
