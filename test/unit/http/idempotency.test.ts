import { join } from 'node:path';
import { pino } from 'pino';
import { SqliteIdempotencyStore } from '../../../shared/adapters/sqlite/idempotency-store';
import { fingerprintOf, Idempotency } from '../../../shared/http/idempotency';
import { CatalogError } from '../../../shared/kernel/errors';
import { realSystem } from '../../../shared/kernel/system';
import type { KeptAnswer, Operation } from '../../../shared/ports/idempotency-store';
import { makeTempDir, type TempDir } from '../../support/temp-dir';

const KEY = { api_key_id: 'key', idempotency_key: 'once' };
/** Asks for the time anew, so that a clock of the test's own is the one asked. */
const system = { ...realSystem, now: () => Date.now() };
const OK: KeptAnswer = { status: 200, headers: {}, body: '{}' };

describe('carrying a write out once', () => {
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

  const process = (lease_ms: number) =>
    new Idempotency({ store, system, log: pino({ level: 'silent' }), lease_ms });
  const once = (idempotency: Idempotency, run: (operation: Operation) => Promise<KeptAnswer>) =>
    idempotency.once({ key: KEY, fingerprint: 'print', run, refusal: () => ({ ...OK, status: 404 }) });
  const condition = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'answered',
      (error) => error.condition,
    );

  test('a run that takes longer than its lease keeps the lock', async () => {
    jest.useFakeTimers({
      now: Date.now(),
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'queueMicrotask'],
    });
    try {
      const renewals = jest.spyOn(store, 'renew');
      let finish: (answer: KeptAnswer) => void = () => {};
      let slow: Promise<KeptAnswer> | undefined;
      await new Promise<void>((started) => {
        slow = once(process(3_000), () => {
          started();
          return new Promise((resolve) => (finish = resolve));
        });
      });
      for (let second = 0; second < 10; second += 1) {
        jest.advanceTimersByTime(1_000);
        await Promise.all(renewals.mock.results.map(({ value }) => value));
        expect(await condition(once(process(3_000), async () => OK))).toBe('idempotency_key_locked');
      }
      finish(OK);
      expect(await slow).toEqual(OK);
      expect((await once(process(3_000), async () => OK)).headers).toEqual({ 'Idempotent-Replayed': 'true' });
    } finally {
      jest.useRealTimers();
    }
  });

  test('every run of an operation knows it by the same id; the next use of the key is another', async () => {
    const seen: Operation[] = [];
    const fails = (error: Error) => async (operation: Operation) => {
      seen.push(operation);
      throw error;
    };
    for (const error of [new Error('a bug'), new CatalogError('unavailable'), new CatalogError('lost_race')])
      await once(process(1_000), fails(error)).catch(() => {});
    await once(process(1_000), async (operation) => {
      seen.push(operation);
      return OK;
    });
    expect(seen.map(({ resumed }) => resumed)).toEqual([false, true, true, true]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(1);
  });

  test('what was refused at first sight leaves the key as new', async () => {
    const refused = async (): Promise<never> => {
      throw new CatalogError('lost_race');
    };
    await once(process(1_000), refused).catch(() => {});
    let resumed: boolean | undefined;
    await once(process(1_000), async (operation) => {
      resumed = operation.resumed;
      return OK;
    });
    expect(resumed).toBe(false);
  });

  test('a write that is done is told of, though it could not be noted', async () => {
    store.keep = async () => {
      throw new CatalogError('unavailable');
    };
    expect(await once(process(1_000), async () => OK)).toEqual(OK);
  });
});

test('a fingerprint is of what is said, not of how', () => {
  const one = fingerprintOf('POST', { b: [1, { d: 1, c: null }], a: '' });
  expect(fingerprintOf('POST', { a: '', b: [1, { c: null, d: 1 }] })).toBe(one);
  const others = [
    fingerprintOf('PATCH', { a: '', b: [1, { c: null, d: 1 }] }),
    fingerprintOf('POST', { a: '', b: [{ c: null, d: 1 }, 1] }),
    fingerprintOf('POST', { a: '', b: [1, { d: 1 }] }),
    fingerprintOf('POST', { a: null, b: [1, { c: null, d: 1 }] }),
    fingerprintOf('POST', JSON.parse('{"__proto__":1}')),
    fingerprintOf('POST', {}),
    fingerprintOf('POST', []),
  ];
  expect(new Set([one, ...others]).size).toBe(8);
});
