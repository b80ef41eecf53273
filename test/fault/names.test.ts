import { createListing, findListing, updateListing } from '../../services/command/listing';
import {
  createPublication,
  findPublication,
  type NewPublication,
  type PublicationPatch,
  updatePublication,
} from '../../services/command/publication';
import { parseStreamName } from '../../shared/catalog/events/envelope';
import type { CatalogError } from '../../shared/kernel/errors';
import type { ListingId, PublicationId, StoreId } from '../../shared/kernel/ids';
import { within } from '../support/wait-for';
import { newId, World } from '../unit/command/support';

const TEA: NewPublication = { title: 'Tea', price_currency: 'USD', price_amount: 5 };

/** Two writes of one name. The second runs when the first has reserved the name and not yet appended the resource. */
describe.each([
  { kind: 'external id', named: { external_id: 'erp-1' } },
  { kind: 'SKU', named: { variants: [{ sku: 'erp-1' }] } },
])('a name ($kind) that is taken over from another writer', ({ named: sent }) => {
  const named = sent as Partial<NewPublication>;
  const world = new World();
  const { live } = world.events;
  const environment = 'live';
  let target: { readonly environment: 'live'; readonly store_id: StoreId };
  beforeEach(() => {
    live.log.length = 0;
    target = { environment, store_id: newId<StoreId>() };
  });

  const create = (body: Partial<NewPublication>) =>
    createPublication(world, world.context(), target, { ...TEA, handle: newId(), ...body });
  const rename = (id: PublicationId) =>
    updatePublication(world, world.context(), { environment, id }, named as PublicationPatch);
  const outcomeOf = (writing: Promise<unknown>): Promise<string> =>
    writing.then(
      () => 'done',
      (error: CatalogError) => error.condition,
    );
  /** Runs `between` right after the next append of a reservation. */
  const afterReservation = (between: () => Promise<unknown>): void => {
    const { length } = live.log;
    live.beforeAppend = async () => {
      const is_reserved = live.log.slice(length).some(({ data }) => data.value === 'erp-1');
      if (!is_reserved) return;
      live.beforeAppend = async () => {};
      await between();
    };
  };
  const holders = async (): Promise<number> => {
    const ids = new Set(live.log.map(({ stream }) => parseStreamName(stream)!.id as PublicationId));
    const found = await Promise.all([...ids].map((id) => findPublication(world, environment, id)));
    return found.filter((one) => one?.external_id === 'erp-1' || one?.variants[0]?.sku === 'erp-1').length;
  };

  test.each([
    ['a creation', 'a creation', () => create(named), () => create(named)],
    ['a creation', 'a patch', () => create(named), patched],
    ['a patch', 'a creation', patched, () => create(named)],
    ['a patch', 'a patch', patched, patched],
  ])('%s is interrupted by %s: one of them gets the name', async (_first, _second, first, second) => {
    const outcomes: Promise<string>[] = [];
    const run = (write: () => Promise<unknown>): Promise<string> => {
      const outcome = outcomeOf(write());
      outcomes.push(outcome);
      return outcome;
    };
    afterReservation(() => run(second));
    await run(first);
    expect((await Promise.all(outcomes)).sort()).toEqual(['done', 'name_taken']);
    expect(await holders()).toBe(1);
  });

  test('a creation that was killed after the reservation can be repeated, and the name stays unique', async () => {
    const killed = Object.create(live) as typeof live;
    const reserved = new Promise<void>((resolve) => {
      killed.beforeAppend = async () => {
        if (!live.log.some(({ data }) => data.value === 'erp-1')) return;
        resolve();
        await new Promise(() => {});
      };
    });
    // Another process has other queues.
    const dead = { ...world, events: { ...world.events, live: killed } };
    void createPublication(dead, world.context(), target, { ...TEA, ...named });
    await within(reserved, 'the reservation');
    expect(await holders()).toBe(0);
    expect(await outcomeOf(create(named))).toBe('done');
    expect(await outcomeOf(create(named))).toBe('name_taken');
    expect(await holders()).toBe(1);
  });

  async function patched(): Promise<void> {
    const { beforeAppend } = live;
    live.beforeAppend = async () => {};
    const { id } = (await create({})).value;
    live.beforeAppend = beforeAppend;
    await rename(id);
  }
});

describe('two processes that move listings at the same time', () => {
  const environment = 'live';

  test.each([
    ['right after the announcement of the first', 1],
    ['before the first', 0],
  ])('never make a circle: the second moves %s', async (_when, announcements) => {
    const world = new World();
    const { live } = world.events;
    // Another process has other queues.
    const other = { ...world, events: { ...world.events, live: Object.create(live) as typeof live } };
    const target = { environment, store_id: newId<StoreId>() } as const;
    const [one, two] = await Promise.all(
      ['One', 'Two'].map(
        async (name) => (await createListing(world, world.context(), target, { name })).value.id,
      ),
    );
    const move = (deps: typeof other, id: ListingId, parent_id: string): Promise<string> =>
      updateListing(deps, world.context(), { environment, id }, { parent_id }).then(
        () => 'done',
        (error: CatalogError) => error.condition,
      );
    const { length } = live.log;
    let second: Promise<string> | undefined;
    live.beforeAppend = async () => {
      const announced = live.log.slice(length).filter(({ type }) => type === 'NameReserved');
      if (second || announced.length < announcements) return;
      second = move(other, two!, one!);
      await second;
    };
    const first = await move(world, one!, two!);
    expect([first, await second].sort()).toEqual(['done', 'field_invalid']);
    const parents = await Promise.all([one!, two!].map((id) => findListing(world, environment, id)));
    expect(parents.filter((listing) => listing?.parent_id).length).toBe(1);
  });
});
