import fc from 'fast-check';
import { execute } from '../../../services/command/execute';
import { load } from '../../../services/command/load';
import { accountAggregate } from '../../../shared/catalog/account/account';
import { apiKeyAggregate } from '../../../shared/catalog/api-key/api-key';
import { ABSENT, type Aggregate, type State } from '../../../shared/catalog/events/aggregate';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../../shared/catalog/events/codec';
import { streamName } from '../../../shared/catalog/events/envelope';
import { listingAggregate } from '../../../shared/catalog/listing/listing';
import {
  type PublicationChanges,
  type PublicationCommand,
  publicationAggregate,
} from '../../../shared/catalog/publication/publication';
import { storeAggregate } from '../../../shared/catalog/store/store';
import type { Permission } from '../../../shared/catalog/vocabulary';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AnyId, PublicationId } from '../../../shared/kernel/ids';
import { AT, NOW_MS, newId, World } from './support';

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

const storeFields = {
  name: word,
  description: fc.option(word),
  contact: fc.option(fc.record({ phone: word }, { requiredKeys: [] })),
  ruc: fc.option(word),
};
const environment = fc.constantFrom('live' as const, 'test' as const);
const storeCommand = fc.oneof(
  fc.record({
    type: fc.constant('CreateStore' as const),
    input: fc.record({ ...storeFields, account_id: id, environment }),
  }),
  fc.record({
    type: fc.constant('DescribeStore' as const),
    changes: fc.record(storeFields, { requiredKeys: [] }),
  }),
  fc.record({
    type: fc.constant('ChangeStoreStatus' as const),
    status: fc.constantFrom('active' as const, 'inactive' as const),
  }),
  fc.record({
    type: fc.constant('AddPaymentMethod' as const),
    method: fc.record(
      {
        payment_method_id: id,
        type: fc.constant('cash' as const),
        name: word,
        instructions: fc.option(word),
        position: fc.integer({ min: 1, max: 3 }),
      },
      { requiredKeys: ['payment_method_id', 'type', 'name', 'instructions'] },
    ),
  }),
  fc.record({ type: fc.constant('RemovePaymentMethod' as const), payment_method_id: id }),
);

const accountCommand = fc.oneof(
  fc.record({ type: fc.constant('CreateAccount' as const), name: word }),
  fc.record({ type: fc.constant('SuspendAccount' as const) }),
  fc.record({ type: fc.constant('ReinstateAccount' as const) }),
);

const time = fc.constantFrom('2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z');
const limits = fc.constantFrom(
  { per_minute: 600, per_day: 100_000, burst: 900 },
  { per_minute: 60, per_day: 100, burst: 1 },
);
const apiKeyFields = fc.record(
  {
    account_id: id,
    name: word,
    type: fc.constant('public' as const),
    environment,
    stores: ids,
    permissions: fc.constant<Permission[]>([]),
    key_hash: word,
    expires_at: fc.option(time),
    last_four: word,
    limits,
  },
  {
    requiredKeys: [
      'account_id',
      'name',
      'type',
      'environment',
      'stores',
      'permissions',
      'key_hash',
      'expires_at',
    ],
  },
);
const apiKeyCommand = fc.oneof(
  fc.record({ type: fc.constant('CreateApiKey' as const), fields: apiKeyFields }),
  fc.record({ type: fc.constant('ExpireApiKey' as const), expires_at: time }),
  fc.record({ type: fc.constant('RevokeApiKey' as const) }),
  fc.record({ type: fc.constant('SetApiKeyLimits' as const), limits: fc.option(limits) }),
  fc.record({ type: fc.constant('RecordApiKeyUse' as const), used_at_ms: fc.constant(NOW_MS) }),
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

  test('stores', () => {
    expectRepetitionsToAppendNothing(storeAggregate, storeCommand);
  });

  test('accounts', () => {
    expectRepetitionsToAppendNothing(accountAggregate, accountCommand);
  });

  test('API keys', () => {
    expectRepetitionsToAppendNothing(apiKeyAggregate, apiKeyCommand);
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
      check: () => command,
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
    );
  });
});
