import { MemoryEventStore } from '../support/memory-event-store';
import { eventStoreContract } from './event-store.contract';

eventStoreContract('the log in memory of other tests', async () => {
  const store = new MemoryEventStore();
  const openAnother = async (): Promise<MemoryEventStore> => new MemoryEventStore(store);
  return { store, openAnother, dispose: () => store.close() };
});
