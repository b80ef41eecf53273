import fc from 'fast-check';
import { execute } from '../../../services/command/execute';
import { ABSENT, type Aggregate, type State } from '../../../shared/catalog/events/aggregate';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../../shared/catalog/events/codec';
import { streamName } from '../../../shared/catalog/events/envelope';
import { listingAggregate } from '../../../shared/catalog/listing/listing';
import {
  type PublicationChanges,
  type PublicationCommand,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AnyId, PublicationId } from '../../../shared/kernel/ids';
import { load } from '../../../shared/ports/stream-state';
import { cases } from '../../support/long';
import { AT, newId, World } from './support';

/** Few values each, so that commands often match the existing state. */
const word = fc.constantFrom('a', 'b');
const visibility = fc.constantFrom('public' as const, 'private' as const);
const [first_id, second_id] = [newId(), newId()];
const id = fc.constantFrom<string>(first_id, second_id);
const ids = fc.uniqueArray(id);
const input = fc.oneof(word, fc.constant(''));

const publicationFields = {
  title: word,
  description: input,
  description_html: fc.option(word),
  visibility,
  price_currency: fc.constantFrom('USD', 'PEN'),
  price_amount: fc.nat(2),
  price_active: fc.boolean(),
  free_shipping: fc.option(fc.boolean()),
  quantity_available: fc.option(fc.nat(1)),
  featured_position: fc.option(fc.integer({ min: 1, max: 2 })),
  listing_id: fc.option(id),
  media_ids: ids,
};
const newPublication = fc.record(publicationFields, {
  requiredKeys: ['title', 'price_currency', 'price_amount'],
});
const publicationChanges: fc.Arbitrary<PublicationChanges> = fc.record(publicationFields, {
  requiredKeys: [],
});
const publicationCommand = fc.oneof(
  fc.record({ type: fc.constant('Create' as const), store_id: id, input: newPublication }),
  fc.record({ type: fc.constant('Put' as const), store_id: id, input: newPublication }),
  fc.record({ type: fc.constant('Update' as const), changes: publicationChanges }),
  fc.record({ type: fc.constant('Delete' as const) }),
);

const listingFields = {
  name: word,
  description: fc.option(word),
  visibility,
  default_sort_mode: fc.constantFrom('price_asc' as const, 'name_asc' as const),
  media_ids: ids,
};
const newListing = fc.record(listingFields, { requiredKeys: ['name'] });
const listingCommand = fc.oneof(
  fc.record({ type: fc.constant('Create' as const), store_id: id, input: newListing }),
  fc.record({ type: fc.constant('Put' as const), store_id: id, input: newListing }),
  fc.record({
    type: fc.constant('Update' as const),
    changes: fc.record(listingFields, { requiredKeys: [] }),
  }),
  fc.record({ type: fc.constant('Delete' as const) }),
);

/**
 * Runs every command twice. Expects that the second run appends nothing, that decoding an encoded event gives the same
 * event, and that a state that was stored as a snapshot before any command gives the same state after it. Returns the
 * number of accepted commands.
 */
function replay<Resource, Event extends DomainEvent, Id extends AnyId, Command>(
  aggregate: Aggregate<Resource, Event, Id, Command>,
  commands: readonly Command[],
): number {
  const stream = newId<Id>();
  let state: State<Resource> = ABSENT;
  let from_snapshot: State<Resource> = ABSENT;
  let accepted = 0;
  for (const command of commands) {
    const decision = aggregate.decide(state, command);
    if (!decision.ok) continue;
    accepted++;
    const stored = decision.events.map((event) => decodeEvent(encodeEvent(event)) as Event);
    expect(stored).toEqual(decision.events);
    for (const event of stored) state = aggregate.evolve(state, event, stream, AT);
    from_snapshot = JSON.parse(JSON.stringify(from_snapshot)) as State<Resource>;
    for (const event of stored) from_snapshot = aggregate.evolve(from_snapshot, event, stream, AT);
    expect(from_snapshot).toStrictEqual(state);
    const repeated = aggregate.decide(state, command);
    expect(repeated.ok ? repeated.events : []).toEqual([]);
  }
  return accepted;
}

/** Fails the test if a repeated command appends an event, or if at most 20 commands were accepted in total. */
function expectRepetitionsToAppendNothing<Resource, Event extends DomainEvent, Id extends AnyId, Command>(
  aggregate: Aggregate<Resource, Event, Id, Command>,
  command: fc.Arbitrary<Command>,
): void {
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(command), (commands) => {
      accepted += replay(aggregate, commands);
    }),
    cases(),
  );
  expect(accepted).toBeGreaterThan(20);
}

describe('after any commands, a repeated command appends nothing, events match their schemas, and snapshots the state', () => {
  test('publications', () => {
    expectRepetitionsToAppendNothing(publicationAggregate, publicationCommand);
  });

  test('listings', () => {
    expectRepetitionsToAppendNothing(listingAggregate, listingCommand);
  });
});

describe('a publication with concurrent writes', () => {
  const place = (world: World, id: PublicationId) =>
    ({ aggregate: publicationAggregate, events: world.events.live, realm: 'live', id }) as const;

  const write = (world: World, id: PublicationId, command: PublicationCommand) =>
    execute({
      ...place(world, id),
      system: world.system,
      context: world.context(),
      prepare: () => ({ command }),
    });

  test('has the state that its log folds to in every response', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(publicationCommand), async (commands) => {
        const world = new World();
        const id = newId<PublicationId>();
        for (const command of commands) {
          world.now_ms += 1_000;
          const written = await write(world, id, command).catch((error: unknown) => {
            if (!(error instanceof CatalogError)) throw error;
          });
          const { state, position } = await load(place(world, id));
          if (written)
            expect({ state, position }).toEqual({ state: written.value, position: written.position });
        }
      }),
      cases(),
    );
  });

  test('keeps every acknowledged change, in a single order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(publicationChanges, { maxLength: 12 }), async (patches) => {
        const world = new World();
        const id = newId<PublicationId>();
        const first = { title: 'a', price_currency: 'USD', price_amount: 0 };
        await write(world, id, { type: 'Create', store_id: first_id, input: first });
        const answers = await Promise.all(
          patches.map((changes) => write(world, id, { type: 'Update', changes })),
        );
        for (const [index, answer] of answers.entries()) {
          expect(answer.value).toMatchObject({ tag: 'present', resource: patches[index]! });
        }
        const newest = answers.toSorted((a, b) => Number(a.position - b.position)).at(-1);
        const { state } = await load(place(world, id));
        if (newest) expect(newest.value).toEqual(state);
        const recorded = await world.events.live.readStream(streamName('live', 'publication', id));
        const revisions = recorded.map((event) => event.revision);
        expect(revisions).toEqual(revisions.map((_, index) => index));
      }),
      cases(),
    );
  });
});
