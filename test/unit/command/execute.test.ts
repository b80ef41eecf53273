import type { WriteContext } from '../../../services/command/execute';
import { execute, type Written } from '../../../services/command/execute';
import type { State } from '../../../shared/catalog/events/aggregate';
import { type StreamName, streamName } from '../../../shared/catalog/events/envelope';
import { type Listing, type ListingCommand, listingAggregate } from '../../../shared/catalog/listing/listing';
import { CatalogError } from '../../../shared/kernel/errors';
import { isUuid, type ListingId } from '../../../shared/kernel/ids';
import { AT, errorOf, newId, World } from './support';

const store_id = newId();
const create: ListingCommand = { type: 'Create', store_id, input: { name: 'Teas' } };
const rename = (name: string): ListingCommand => ({ type: 'Update', changes: { name } });

/** Writes to one listing, in a log of its own. */
class ListingWriter {
  readonly world = new World();
  readonly log = this.world.events.live;
  readonly stream: StreamName;

  constructor(readonly id = newId<ListingId>()) {
    this.stream = streamName('live', 'listing', id);
  }

  run(
    command: ListingCommand,
    options: { context?: WriteContext; check?: (state: State<Listing>) => void } = {},
  ): Promise<Written<State<Listing>>> {
    return execute({
      system: this.world.system,
      events: this.log,
      realm: 'live',
      aggregate: listingAggregate,
      id: this.id,
      context: options.context ?? this.world.context(),
      prepare: (state) => {
        options.check?.(state);
        return { command };
      },
    });
  }

  /** Makes another process append an event between the read and the append of the next `times` writes. */
  appendInBetween(times: number): void {
    let remaining = times;
    this.log.beforeAppend = async () => {
      if (remaining-- <= 0) return;
      const hook = this.log.beforeAppend;
      this.log.beforeAppend = async () => {};
      const recorded = await this.log.readStream(this.stream);
      const { metadata, schema_version } = recorded[0]!;
      const data = { name: `Other ${remaining}`, description: null };
      const event = { id: newId(), type: 'ListingDescribed', schema_version, data, metadata };
      await this.log.append(this.stream, recorded.length - 1, [event]);
      this.log.beforeAppend = hook;
    };
  }

  names(): unknown[] {
    return this.log.log.map((event) => event.data.name);
  }
}

describe('a write', () => {
  test('appends an event with the context and the time as metadata', async () => {
    const writer = new ListingWriter();
    const context: WriteContext = {
      source: 'api',
      request_id: 'r-1',
      idempotency_key: 'once',
      account_id: newId(),
      api_key_id: newId(),
    };
    const written = await writer.run(create, { context });
    expect(written).toMatchObject({ changed: true, created: true, position: 1n, value: { tag: 'present' } });
    expect(writer.log.log).toMatchObject([
      {
        type: 'ListingCreated',
        stream: writer.stream,
        metadata: { ...context, store_id, partition_key: store_id, occurred_at: AT },
      },
    ]);
    expect(isUuid(writer.log.log[0]!.id)).toBe(true);
  });

  test('that changes nothing appends nothing and returns the last position', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    await writer.run(rename('Herbs'));
    const again = await writer.run(rename('Herbs'));
    expect(again).toMatchObject({ changed: false, created: false, position: 2n });
    expect(writer.log.log).toHaveLength(2);
  });

  test('returns the state after its events', async () => {
    const writer = new ListingWriter();
    const { value: answered } = await writer.run(create);
    const { value: read } = await writer.run(rename('Teas'));
    expect(answered).toEqual(read);
  });

  test('that is rejected appends nothing', async () => {
    const writer = new ListingWriter();
    expect((await errorOf(() => writer.run(rename('X')))).condition).toBe('listing_not_found');
    expect(writer.log.log).toEqual([]);
  });

  test('with an unknown outcome appends no second event when it is repeated', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    const append = writer.log.append.bind(writer.log);
    writer.log.append = async (...args) => {
      await append(...args);
      throw new CatalogError('database_timeout');
    };
    const context = writer.world.context();
    await errorOf(() => writer.run(rename('Herbs'), { context }));
    writer.log.append = append;
    expect(await writer.run(rename('Herbs'), { context })).toMatchObject({ changed: false, position: 2n });
    expect(writer.names()).toEqual(['Teas', 'Herbs']);
  });
});

describe('event ids', () => {
  const idsOf = async (writer: ListingWriter, context: WriteContext, name: string): Promise<string> => {
    await writer.run(rename(name), { context });
    return writer.log.log.at(-1)!.id;
  };

  test('differ for different content in one request', async () => {
    const writer = new ListingWriter();
    const context = writer.world.context();
    await writer.run(create, { context });
    const ids = [
      await idsOf(writer, context, 'A'),
      await idsOf(writer, context, 'B'),
      await idsOf(writer, context, 'A'),
    ];
    expect(new Set(ids).size).toBe(3);
  });

  test('are the same in each run of an operation, unless its record was lost', async () => {
    const operation = { id: newId(), started_at_ms: 0, resumed: false };
    const id = newId<ListingId>();
    const idIn = async (context: WriteContext, at_ms: number): Promise<string> => {
      const writer = new ListingWriter(id);
      writer.world.now_ms += at_ms;
      await writer.run(create, { context });
      return writer.log.log[0]!.id;
    };
    const request: WriteContext = { source: 'api', request_id: 'r' };
    const first = await idIn({ ...request, operation }, 0);
    expect(await idIn({ ...request, operation: { ...operation, resumed: true } }, 60_000)).toBe(first);
    expect(await idIn({ ...request, operation: { ...operation, started_at_ms: 1 } }, 0)).not.toBe(first);
    expect(await idIn(request, 60_000)).not.toBe(await idIn(request, 0));
  });
});

describe('a lost race', () => {
  test('is decided again on the new state of the stream', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    writer.appendInBetween(3);
    const written = await writer.run(rename('Mine'));
    expect(writer.names()).toEqual(['Teas', 'Other 2', 'Other 1', 'Other 0', 'Mine']);
    expect(written).toMatchObject({ changed: true, value: { resource: { name: 'Mine', version: 5 } } });
  });

  test('throws lost_race after the fourth time', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    writer.appendInBetween(4);
    expect((await errorOf(() => writer.run(rename('Mine')))).condition).toBe('lost_race');
    expect(writer.names()).not.toContain('Mine');
  });

  test('checks the precondition again', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    writer.appendInBetween(1);
    const versions: number[] = [];
    const check = (state: State<Listing>): void => {
      if (state.tag !== 'present') return;
      versions.push(state.resource.version);
      if (state.resource.version !== 1) throw new CatalogError('precondition_failed');
    };
    const failure = await errorOf(() => writer.run(rename('Mine'), { check }));
    expect(failure.condition).toBe('precondition_failed');
    expect(versions).toEqual([1, 2]);
    expect(writer.names()).toEqual(['Teas', 'Other 0']);
  });

  test('does not occur between writers of one process, because they are serialised', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    const names = Array.from({ length: 50 }, (_, i) => `Name ${i}`);
    const all = await Promise.all(names.map((name) => writer.run(rename(name))));
    expect(writer.names()).toEqual(['Teas', ...names]);
    expect(all.map((written) => written.position)).toEqual(names.map((_, i) => BigInt(i + 2)));
  });

  test('to a second run of the same operation returns the result of that run', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    const operation = { id: newId(), started_at_ms: 0, resumed: false };
    const context: WriteContext = { source: 'api', request_id: 'r', operation };
    writer.log.beforeAppend = async () => {
      writer.log.beforeAppend = async () => {};
      const metadata = { ...writer.log.log[0]!.metadata, operation_id: operation.id };
      const event = { id: newId(), type: 'ListingDeleted', schema_version: 1, data: {}, metadata };
      await writer.log.append(writer.stream, 0, [event]);
    };
    const written = await writer.run({ type: 'Delete' }, { context });
    expect(written).toMatchObject({ value: { tag: 'deleted' }, position: 2n, repeated: true });
    expect(writer.log.log).toHaveLength(2);
  });

  test('to a run that took over the lock returns the result of that run, although a third client wrote since', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    const operation = { id: newId(), started_at_ms: 0, resumed: false };
    const contextWithLock = (locked_until_ms: number): WriteContext => ({
      source: 'api',
      request_id: 'r',
      operation: { ...operation, locked_until_ms },
    });
    const { now_ms } = writer.world;
    await writer.run(rename('Mine'), { context: contextWithLock(now_ms + 1) });
    await writer.run(rename('Of another client'));
    const written = await writer.run(rename('Mine'), { context: contextWithLock(now_ms) });
    expect(written).toMatchObject({ position: 2n, revision: 1, repeated: true });
    expect(writer.names()).toEqual(['Teas', 'Mine', 'Of another client']);
  });

  test('to a run that appends the events of its operation a second time returns the result of the first append', async () => {
    const writer = new ListingWriter();
    await writer.run(create);
    const { world } = writer;
    const operation = {
      id: newId(),
      started_at_ms: 0,
      resumed: false,
      locked_until_ms: world.now_ms + 10_000,
    };
    const context: WriteContext = { source: 'api', request_id: 'r', operation };
    // Another event store object simulates another process, because writes are queued per event store.
    const log = Object.create(writer.log);
    const other_process = Object.assign(new ListingWriter(), { id: writer.id, log, world });
    let first: Written<State<Listing>> | undefined;
    writer.log.beforeAppend = async () => {
      writer.log.beforeAppend = async () => {};
      world.now_ms += 10_000;
      const resumed = { ...operation, resumed: true, locked_until_ms: world.now_ms + 10_000 };
      first = await other_process.run(rename('Mine'), { context: { ...context, operation: resumed } });
    };
    const second = await writer.run(rename('Mine'), { context });
    expect(writer.names()).toEqual(['Teas', 'Mine']);
    expect(second).toEqual({ ...first, repeated: true });
  });

  test('is not caused by a rejected write: the writers behind it continue', async () => {
    const writer = new ListingWriter();
    const [failed, created, renamed] = await Promise.allSettled([
      writer.run(rename('Too early')),
      writer.run(create),
      writer.run(rename('Herbs')),
    ]);
    expect([failed.status, created.status, renamed.status]).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  });
});
