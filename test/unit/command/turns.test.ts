import { setImmediate as nextTurn } from 'node:timers/promises';
import { execute } from '../../../services/command/execute';
import type { Aggregate } from '../../../shared/catalog/events/aggregate';
import {
  type Listing,
  type ListingCommand,
  type ListingEvent,
  listingAggregate,
} from '../../../shared/catalog/listing/listing';
import type { ListingId } from '../../../shared/kernel/ids';
import { load } from '../../../shared/ports/stream-state';
import { newId, World } from './support';

/** How long a step of a write takes: longer than work may hold a turn. */
const STEP_MS = 5;
let now_ms = 0;
/** Counts the turns of the event loop, in which other requests are answered, until `work` ends. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let has_ended = false;
  const ending = work.finally(() => {
    has_ended = true;
  });
  while (!has_ended) {
    await nextTurn();
    turns++;
  }
  await ending;
  return turns;
}

beforeEach(async () => {
  jest.spyOn(performance, 'now').mockImplementation(() => now_ms);
  // A turn of an earlier test that has not ended has a time of the real clock.
  await nextTurn();
});
afterEach(() => jest.restoreAllMocks());

const create: ListingCommand = { type: 'Create', store_id: newId(), input: { name: 'Teas' } };
/** Listings whose events take long to decide and to apply. */
const slow: Aggregate<Listing, ListingEvent, ListingId, ListingCommand> = {
  ...listingAggregate,
  decide: (state, command) => {
    now_ms += STEP_MS;
    return listingAggregate.decide(state, command);
  },
  evolve: (...args) => {
    now_ms += STEP_MS;
    return listingAggregate.evolve(...args);
  },
};

function write(world: World, id = newId<ListingId>(), command = create): Promise<unknown> {
  return execute({
    ...{ system: world.system, events: world.events.live, realm: 'live', id, command },
    aggregate: slow,
    context: world.context(),
    prepare: () => ({ command }),
  });
}

test('writes that begin at the same time give others a turn after each', async () => {
  const world = new World();
  const writes = Promise.all(Array.from({ length: 20 }, () => write(world)));
  expect(await turnsDuring(writes)).toBeGreaterThanOrEqual(19);
});

test('reading a stream gives others a turn between its events', async () => {
  const world = new World();
  const id = newId<ListingId>();
  for (let n = 0; n < 40; n++) {
    const command: ListingCommand = n === 0 ? create : { type: 'Update', changes: { name: `Teas ${n}` } };
    await execute({
      ...{ system: world.system, events: world.events.live, realm: 'live', id },
      aggregate: listingAggregate,
      context: world.context(),
      prepare: () => ({ command }),
    });
  }
  const reading = load<Listing>({ events: world.events.live, realm: 'live', aggregate: slow, id });
  expect(await turnsDuring(reading)).toBeGreaterThanOrEqual(9);
});
