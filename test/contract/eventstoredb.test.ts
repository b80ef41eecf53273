import { randomUUID } from 'node:crypto';
import { allChangesOf } from '../../services/query/change-collector';
import { Feed } from '../../services/query/feed';
import { type Position, type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { BEGINNING, markOf, offsetOf } from '../../shared/ports/log-offset';
import {
  EventStoreServer,
  eventStoreUrl,
  openStore,
  ownNamespace,
} from '../support/eventstore-standin/server-under-test';
import { eventStoreContract } from './event-store.contract';
import { anEvent, aStream, NO_KEYS, someEvents } from './some-events';

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

const foreignStream = (): StreamName => streamName('test', 'publication', randomUUID());

test('a change feed without changes examines the events of other realms once', async () => {
  const namespace = ownNamespace();
  const own = await openStore(server.url, { namespace });
  const others = await openStore(server.url, { namespace, realm: 'test' });
  const read_after: Position[] = [];
  const subscribe: EventStore['subscribe'] = (options) => {
    read_after.push(options.after);
    return own.subscribe(options);
  };
  const counted = new Proxy(own, {
    get: (store, name) => (name === 'subscribe' ? subscribe : Reflect.get(store, name)),
  });
  const feed = new Feed({ control_view: NO_KEYS }, counted, allChangesOf('another-store'));
  try {
    await own.append(aStream(), NO_STREAM, [anEvent()]);
    for (let n = 0; n < 3; n++) await others.append(foreignStream(), NO_STREAM, someEvents(1_000));
    const head = await own.head();
    const first = await feed.read(BEGINNING);
    expect(first).toMatchObject({ entries: [], is_up_to_date: true });
    expect(first.next.position).toBeGreaterThanOrEqual(head);
    // A consumer goes on at the offset, which names an event of another realm.
    const place = await markOf(own, offsetOf(first.next));
    await others.append(foreignStream(), NO_STREAM, [anEvent()]);
    const second = await feed.read(place);
    expect(read_after).toEqual([BEGINNING.position, first.next.position]);
    expect(second.next.position).toBeGreaterThan(first.next.position);
  } finally {
    await others.close();
    await own.close();
  }
});
