import { join } from 'node:path';
import { pino } from 'pino';
import { SqliteIdempotencyStore } from '../../../shared/adapters/sqlite/idempotency-store';
import { operations } from '../../../shared/api/operations';
import { fingerprintOf, Idempotency, STORED_ERRORS } from '../../../shared/http/idempotency';
import type { HttpMetrics } from '../../../shared/http/metrics';
import { CatalogError } from '../../../shared/kernel/errors';
import { realSystem } from '../../../shared/kernel/system';
import type { Operation, RenderedAnswer } from '../../../shared/ports/idempotency-store';
import { makeTempDir, type TempDir } from '../../support/temp-dir';
import { waitFor, within } from '../../support/wait-for';

const KEY = { api_key_id: 'key', idempotency_key: 'once' };
/** Reads the clock at each call, so that jest's fake timers apply. */
const system = { ...realSystem, now: () => Date.now() };
const noMetrics: HttpMetrics = {
  requestFinished: () => {},
  limiterFellBack: () => {},
  limiterRefused: () => {},
  keyClaimed: () => {},
  lockLost: () => {},
};
const OK: RenderedAnswer = { status: 200, headers: {}, body: '{}' };

/** Operations on a resource by its id. A store that does not exist is refused before the write. */
const by_id = operations.filter(({ path, method }) => path.endsWith('/:id') && /PATCH|DELETE/.test(method));

test.each(by_id)('$id: the error for a missing resource is stored like a success', ({ conditions }) => {
  const missing = conditions.filter((name) => name.endsWith('_not_found') && name !== 'store_not_found');
  for (const name of missing) expect(STORED_ERRORS).toContain(name);
  expect(missing).not.toEqual([]);
});

describe('Idempotency', () => {
  let folder: TempDir;
  let store: SqliteIdempotencyStore;

  beforeEach(async () => {
    folder = makeTempDir();
    store = await SqliteIdempotencyStore.open({ file: join(folder.path, 'idempotency.sqlite') });
  });
  afterEach(async () => {
    await store.close();
    folder.remove();
  });

  const withLease = (lease_ms: number) =>
    new Idempotency({ store, system, log: pino({ level: 'silent' }), records_max: 9, lease_ms });
  const once = (idempotency: Idempotency, run: (operation: Operation) => Promise<RenderedAnswer>) =>
    idempotency.once({
      key: KEY,
      fingerprint: 'print',
      answer_by_ms: performance.now() + 60_000,
      run,
      renderFailure: () => ({ ...OK, status: 404 }),
    });
  const condition = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'answered',
      (error) => error.condition,
    );

  test('a request that runs longer than its lease keeps the lock', async () => {
    jest.useFakeTimers({
      now: Date.now(),
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'queueMicrotask'],
    });
    try {
      const renewals = jest.spyOn(store, 'renew');
      let finish: (answer: RenderedAnswer) => void = () => {};
      let slow: Promise<RenderedAnswer> | undefined;
      const started = new Promise<void>((resolve_started) => {
        slow = once(withLease(3_000), () => {
          resolve_started();
          return new Promise((resolve) => (finish = resolve));
        });
      });
      await within(started, 'the first run to start');
      for (let second = 0; second < 10; second += 1) {
        jest.advanceTimersByTime(1_000);
        await Promise.all(renewals.mock.results.map(({ value }) => value));
        expect(await condition(once(withLease(3_000), async () => OK))).toBe('idempotency_key_locked');
      }
      finish(OK);
      expect(await within(slow, 'the first run to finish')).toEqual(OK);
      expect((await once(withLease(3_000), async () => OK)).headers).toEqual({
        'Idempotent-Replayed': 'true',
      });
    } finally {
      jest.useRealTimers();
    }
  });

  test('a run that has lost its lock responds, and the loss is logged and counted', async () => {
    const lines: string[] = [];
    let losses = 0;
    const metrics = { ...noMetrics, lockLost: () => void losses++ };
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const idempotency = new Idempotency({ store, system, log, metrics, records_max: 9, lease_ms: 1_000 });
    const answer = await once(idempotency, async () => {
      // Another process claims the key after this lock has ended, as if this process had been stopped for that long.
      const now_ms = system.now() + 1_000;
      const times = { now_ms, locked_until_ms: now_ms + 1_000, expires_at_ms: now_ms + 60_000 };
      const claimed = await store.claim(KEY, {
        fingerprint: 'print',
        holder: 'other',
        ...times,
        records_max: 9,
      });
      expect(claimed).toMatchObject({ outcome: 'claimed', resumed: true });
      return OK;
    });
    expect([answer, losses, lines.length]).toEqual([OK, 1, 1]);
    expect(JSON.parse(lines[0]!).msg).toContain('lock of an idempotency key was lost');
  });

  test('a renewal that is under way when the write ends does not count as a lost lock', async () => {
    let losses = 0;
    const metrics = { ...noMetrics, lockLost: () => void losses++ };
    const log = pino({ level: 'silent' });
    const renew = store.renew.bind(store);
    const renewals: Promise<boolean>[] = [];
    let renewalStarted: () => void = () => {};
    const renewing = new Promise<void>((resolve) => (renewalStarted = resolve));
    const stores = jest.spyOn(store, 'storeAnswer');
    // This renewal reaches the file late: 50 ms after the write has ended, or when the answer is stored, if that is earlier.
    store.renew = (...parameters) => {
      const renewal = waitFor(() => stores.mock.calls.length > 0, { timeout_ms: 50 })
        .catch(() => {})
        .then(() => renew(...parameters));
      renewals.push(renewal);
      renewalStarted();
      return renewal;
    };
    const idempotency = new Idempotency({ store, system, log, metrics, records_max: 9, lease_ms: 30 });
    await once(idempotency, async () => {
      await within(renewing, 'a renewal to start');
      return OK;
    });
    expect(await Promise.all(renewals)).toEqual(renewals.map(() => true));
    expect(losses).toBe(0);
  });

  test('every attempt of an operation has the same id', async () => {
    const attempts: Operation[] = [];
    const fails = (error: Error) => async (operation: Operation) => {
      attempts.push(operation);
      throw error;
    };
    for (const error of [new Error('a bug'), new CatalogError('unavailable'), new CatalogError('lost_race')])
      await once(withLease(1_000), fails(error)).catch(() => {});
    await once(withLease(1_000), async (operation) => {
      attempts.push(operation);
      return OK;
    });
    expect(attempts.map(({ resumed }) => resumed)).toEqual([false, true, true, true]);
    expect(new Set(attempts.map(({ id }) => id)).size).toBe(1);
  });

  test('a first attempt that is refused leaves the key unused', async () => {
    const refused = async (): Promise<never> => {
      throw new CatalogError('lost_race');
    };
    await once(withLease(1_000), refused).catch(() => {});
    let resumed: boolean | undefined;
    await once(withLease(1_000), async (operation) => {
      resumed = operation.resumed;
      return OK;
    });
    expect(resumed).toBe(false);
  });

  test('an attempt that is refused after it has appended events keeps the key for the same request', async () => {
    const refused = async ({ onAppended }: Operation): Promise<never> => {
      onAppended?.();
      throw new CatalogError('lost_race');
    };
    await once(withLease(1_000), refused).catch(() => {});
    const times = { now_ms: system.now(), locked_until_ms: system.now() + 1_000 };
    const other = { fingerprint: 'other', holder: 'other', ...times, records_max: 9 };
    const claimed = await store.claim(KEY, { ...other, expires_at_ms: system.now() + 60_000 });
    expect(claimed.outcome).toBe('other_request');
    const resumed = await once(withLease(1_000), async (operation) => ({
      ...OK,
      body: `${operation.resumed}`,
    }));
    expect(resumed.body).toBe('true');
  });

  test('a write succeeds although its response cannot be stored', async () => {
    store.storeAnswer = async () => {
      throw new CatalogError('unavailable');
    };
    expect(await once(withLease(1_000), async () => OK)).toEqual(OK);
  });
});

test('a fingerprint depends on the content of a request and not on the order of its fields', () => {
  const fingerprint = fingerprintOf('POST', { b: [1, { d: 1, c: null }], a: '' });
  expect(fingerprintOf('POST', { a: '', b: [1, { c: null, d: 1 }] })).toBe(fingerprint);
  const others = [
    fingerprintOf('PATCH', { a: '', b: [1, { c: null, d: 1 }] }),
    fingerprintOf('POST', { a: '', b: [{ c: null, d: 1 }, 1] }),
    fingerprintOf('POST', { a: '', b: [1, { d: 1 }] }),
    fingerprintOf('POST', { a: null, b: [1, { c: null, d: 1 }] }),
    fingerprintOf('POST', JSON.parse('{"__proto__":1}')),
    fingerprintOf('POST', {}),
    fingerprintOf('POST', []),
  ];
  expect(new Set([fingerprint, ...others]).size).toBe(8);
});
