import type { EventStore } from '../../shared/ports/event-store';
import {
  EventStoreServer,
  eventStoreUrl,
  openStore,
  ownNamespace,
} from '../support/eventstore-standin/server-under-test';
import { eventStoreContract } from './event-store.contract';

const server = new EventStoreServer();
beforeAll(() => server.start());
afterAll(() => server.stop());

eventStoreContract(eventStoreUrl === undefined ? 'the EventStoreDB stand-in' : 'EventStoreDB', async () => {
  const namespace = ownNamespace();
  const opened: EventStore[] = [];
  const openAnother = async (): Promise<EventStore> => {
    const store = await openStore(server.url, { namespace });
    opened.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    for (const store of opened) await store.close();
  };
  return { store: await openAnother(), openAnother, dispose };
});
