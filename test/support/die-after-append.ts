import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';

/**
 * Loaded into a process before it starts (`node --require`): it is killed the moment something is on disk, before
 * anybody is told. `DIE_AFTER_APPEND_OF`: an event that carries this idempotency key. `DIE_AFTER_APPENDS`: so many
 * appends. `DIE_BY`: the signal, -9 by default; one that can be caught leaves the process to end as it does.
 */
const { DIE_AFTER_APPEND_OF, DIE_AFTER_APPENDS, DIE_BY = 'SIGKILL' } = process.env;
const append = SqliteEventStore.prototype.append;
let appends = 0;

SqliteEventStore.prototype.append = async function appendAndDie(this: SqliteEventStore, ...given) {
  const result = await append.apply(this, given);
  appends += 1;
  const is_last = given[2].some(({ metadata }) => metadata.idempotency_key === DIE_AFTER_APPEND_OF);
  if ((DIE_AFTER_APPEND_OF !== undefined && is_last) || appends === Number(DIE_AFTER_APPENDS)) {
    process.kill(process.pid, DIE_BY as NodeJS.Signals);
    if (DIE_BY === 'SIGKILL') await new Promise(() => {});
  }
  return result;
};
