import { worstOf } from '../../../services/boot/readiness';

const realm = (event_store: string, more = {}) => ({ event_store, matching_log: 'yes', ...more });

test('a service of several processes is as ready as the worst of them', () => {
  const main = {
    ok: true,
    details: { waiting_for: [], live: realm('ok', { pipeline: 'running', lag: [3] }), rate_limiter: 'ok' },
  };
  const healthy = {
    ok: true,
    details: { waiting_for: [], live: realm('ok', { lag: [0] }), rate_limiter: 'ok' },
  };
  expect(worstOf(main, [healthy])).toEqual(main);

  const full = {
    ok: false,
    details: {
      waiting_for: ['event_store'],
      live: { ...realm('not_writable'), matching_log: 'unknown' },
      rate_limiter: 'unavailable',
    },
  };
  expect(worstOf(main, [full, healthy])).toEqual({
    ok: false,
    details: {
      waiting_for: ['event_store'],
      live: { event_store: 'not_writable', matching_log: 'unknown', pipeline: 'running', lag: [3] },
      rate_limiter: 'unavailable',
    },
  });

  const evicting = { ok: true, details: { idempotency_store: 'may_evict', live: realm('not_writable') } };
  const broken = { ok: false, details: { idempotency_store: 'unavailable', live: realm('damaged') } };
  for (const [one, other] of [
    [evicting, broken],
    [broken, evicting],
  ] as const)
    expect(worstOf(one, [other])).toEqual(broken);

  const mismatch = { ok: false, details: { live: { matching_log: 'no', mismatch: 'another log' } } };
  expect(worstOf(main, [mismatch]).details.live).toMatchObject(mismatch.details.live);
});
