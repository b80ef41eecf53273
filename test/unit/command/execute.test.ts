import type { WriteContext } from '../../../services/command/execute';
import { execute, type Written } from '../../../services/command/execute';
import { streamName } from '../../../shared/catalog/events/envelope';
import type { ListingState } from '../../../shared/catalog/listing/listing';
import {
  decideListing,
  type ListingCommand,
  listingAggregate,
} from '../../../shared/catalog/listing/listing';
import { CatalogError } from '../../../shared/kernel/errors';
import type { ListingId } from '../../../shared/kernel/ids';
import { isUuid } from '../../../shared/kernel/uuid';
import { AT, newId, refusal, World } from './support';

const store_id = newId();
const create: ListingCommand = { type: 'CreateListing', store_id, input: { name: 'Teas' } };
const rename = (name: string): ListingCommand => ({ type: 'UpdateListing', changes: { name } });

/** One listing in a log of its own. */
class Desk {
  readonly world = new World();
  readonly id = newId<ListingId>();
  readonly log = this.world.events.live;
  readonly stream = streamName('live', 'listing', this.id);

  run(
    command: ListingCommand,
    options: { context?: WriteContext; check?: (state: ListingState) => void } = {},
  ): Promise<Written<ListingState>> {
    return execute({
      system: this.world.system,
      events: this.log,
      realm: 'live',
      aggregate: listingAggregate,
      id: this.id,
      context: options.context ?? this.world.context(),
      ...(options.check === undefined ? {} : { check: options.check }),
      decide: (state) => decideListing(state, command),
    });
  }

  /** Lets another process write `events` times between this one's read and append. */
  disturb(times: number): void {
    let left = times;
    this.log.beforeAppend = async () => {
      if (left-- <= 0) return;
      const quiet = this.log.beforeAppend;
      this.log.beforeAppend = async () => {};
      const there = await this.log.readStream(this.stream);
      const { metadata, schema_version } = there[0]!;
      const data = { name: `Other ${left}`, description: null };
      const event = { id: newId(), type: 'ListingDescribed', schema_version, data, metadata };
      await this.log.append(this.stream, there.length - 1, [event]);
      this.log.beforeAppend = quiet;
    };
  }

  names(): unknown[] {
    return this.log.log.map((event) => event.data.name);
  }
}

describe('a write', () => {
  test('is appended with who did it, when and why', async () => {
    const desk = new Desk();
    const context: WriteContext = {
      source: 'api',
      request_id: 'r-1',
      idempotency_key: 'once',
      account_id: newId(),
      api_key_id: newId(),
    };
    const written = await desk.run(create, { context });
    expect(written).toMatchObject({ changed: true, created: true, position: 1n, value: { tag: 'present' } });
    expect(desk.log.log).toMatchObject([
      {
        type: 'ListingCreated',
        stream: desk.stream,
        metadata: { ...context, store_id, partition_key: store_id, occurred_at: AT },
      },
    ]);
    expect(isUuid(desk.log.log[0]!.id)).toBe(true);
  });

  test('that changes nothing is not appended and answers with the last position', async () => {
    const desk = new Desk();
    await desk.run(create);
    await desk.run(rename('Herbs'));
    const again = await desk.run(rename('Herbs'));
    expect(again).toMatchObject({ changed: false, created: false, position: 2n });
    expect(desk.log.log).toHaveLength(2);
  });

  test('answers with the state that its events add up to', async () => {
    const desk = new Desk();
    const { value: answered } = await desk.run(create);
    const { value: read } = await desk.run(rename('Teas'));
    expect(answered).toEqual(read);
  });

  test('that is refused appends nothing', async () => {
    const desk = new Desk();
    expect((await refusal(() => desk.run(rename('X')))).condition).toBe('listing_not_found');
    expect(desk.log.log).toEqual([]);
  });

  test('that the store could not take for certain leaves no second event when it is repeated', async () => {
    const desk = new Desk();
    await desk.run(create);
    const append = desk.log.append.bind(desk.log);
    desk.log.append = async (...given) => {
      await append(...given);
      throw new CatalogError('database_timeout');
    };
    const context = desk.world.context();
    await refusal(() => desk.run(rename('Herbs'), { context }));
    desk.log.append = append;
    expect(await desk.run(rename('Herbs'), { context })).toMatchObject({ changed: false, position: 2n });
    expect(desk.names()).toEqual(['Teas', 'Herbs']);
  });
});

describe('event ids', () => {
  const idsOf = async (desk: Desk, context: WriteContext, name: string): Promise<string> => {
    await desk.run(rename(name), { context });
    return desk.log.log.at(-1)!.id;
  };

  test('of one request id with different content differ, so that neither passes for the other', async () => {
    const desk = new Desk();
    const context = desk.world.context();
    await desk.run(create, { context });
    const ids = [
      await idsOf(desk, context, 'A'),
      await idsOf(desk, context, 'B'),
      await idsOf(desk, context, 'A'),
    ];
    expect(new Set(ids).size).toBe(3);
  });

  test('follow from request, slot and content alone', async () => {
    const [one, two] = [new Desk(), new Desk()];
    Object.assign(two, { id: one.id, stream: one.stream });
    const context: WriteContext = { source: 'cli', request_id: 'r' };
    await one.run(create, { context });
    two.world.now_ms += 60_000;
    await two.run(create, { context });
    expect(two.log.log[0]?.id).toBe(one.log.log[0]?.id);
  });
});

describe('a race', () => {
  test('that is lost is decided again on what the winner wrote', async () => {
    const desk = new Desk();
    await desk.run(create);
    desk.disturb(3);
    const written = await desk.run(rename('Mine'));
    expect(desk.names()).toEqual(['Teas', 'Other 2', 'Other 1', 'Other 0', 'Mine']);
    expect(written).toMatchObject({ changed: true, value: { listing: { name: 'Mine', version: 5 } } });
  });

  test('that is lost four times is given up', async () => {
    const desk = new Desk();
    await desk.run(create);
    desk.disturb(4);
    expect((await refusal(() => desk.run(rename('Mine')))).condition).toBe('lost_race');
    expect(desk.names()).not.toContain('Mine');
  });

  test('that is lost has the precondition checked again', async () => {
    const desk = new Desk();
    await desk.run(create);
    desk.disturb(1);
    const versions: number[] = [];
    const check = (state: ListingState): void => {
      if (state.tag !== 'present') return;
      versions.push(state.listing.version);
      if (state.listing.version !== 1) throw new CatalogError('precondition_failed');
    };
    const failure = await refusal(() => desk.run(rename('Mine'), { check }));
    expect(failure.condition).toBe('precondition_failed');
    expect(versions).toEqual([1, 2]);
    expect(desk.names()).toEqual(['Teas', 'Other 0']);
  });

  test('is not run at all by writers of one process: each takes its turn', async () => {
    const desk = new Desk();
    await desk.run(create);
    const names = Array.from({ length: 50 }, (_, i) => `Name ${i}`);
    const all = await Promise.all(names.map((name) => desk.run(rename(name))));
    expect(desk.names()).toEqual(['Teas', ...names]);
    expect(all.map((written) => written.position)).toEqual(names.map((_, i) => BigInt(i + 2)));
  });

  test('that is lost to a second run of the same operation ends as that one did', async () => {
    const desk = new Desk();
    await desk.run(create);
    const operation = { id: newId(), started_at_ms: 0, resumed: false };
    const context: WriteContext = { source: 'api', request_id: 'r', operation };
    desk.log.beforeAppend = async () => {
      desk.log.beforeAppend = async () => {};
      const metadata = { ...desk.log.log[0]!.metadata, operation_id: operation.id };
      const event = { id: newId(), type: 'ListingDeleted', schema_version: 1, data: {}, metadata };
      await desk.log.append(desk.stream, 0, [event]);
    };
    const written = await desk.run({ type: 'DeleteListing' }, { context });
    expect(written).toMatchObject({ value: { tag: 'deleted' }, position: 2n, repeated: true });
    expect(desk.log.log).toHaveLength(2);
  });

  test('that fails does not stop the writers behind it', async () => {
    const desk = new Desk();
    const [failed, created, renamed] = await Promise.allSettled([
      desk.run(rename('Too early')),
      desk.run(create),
      desk.run(rename('Herbs')),
    ]);
    expect([failed.status, created.status, renamed.status]).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  });
});
