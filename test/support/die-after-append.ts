import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';

/**
 * Preloaded into a process (`node --require`). Kills it right after an append is stored and before the append is
 * acknowledged. The append has the idempotency key `DIE_AFTER_APPEND_OF`, or reserves the name `DIE_AFTER_NAME`, or has the
 * number `DIE_AFTER_APPENDS`. `DIE_BY` is the signal, by default SIGKILL. A process can handle any other signal and stop
 * gracefully.
 */
const { DIE_AFTER_APPEND_OF, DIE_AFTER_NAME, DIE_AFTER_APPENDS, DIE_BY = 'SIGKILL' } = process.env;
const append = SqliteEventStore.prototype.append;
let appends = 0;

SqliteEventStore.prototype.append = async function appendAndDie(this: SqliteEventStore, ...args) {
  const result = await append.apply(this, args);
  appends += 1;
  const is_last = args[2].some(({ metadata }) => metadata.idempotency_key === DIE_AFTER_APPEND_OF);
  const is_name = args[2].some(({ type, data }) => type === 'NameReserved' && data.value === DIE_AFTER_NAME);
  if (is_name || (DIE_AFTER_APPEND_OF !== undefined && is_last) || appends === Number(DIE_AFTER_APPENDS)) {
    process.kill(process.pid, DIE_BY as NodeJS.Signals);
    if (DIE_BY === 'SIGKILL') await new Promise(() => {});
  }
  return result;
};
