/**
 * Claims an operation, or tells what became of it, in one step.
 *
 * KEYS: the operation. ARGV: fingerprint, holder, now, locked until, expires at (Unix milliseconds), how long Redis
 * keeps it (milliseconds). Gives `{outcome, …}` as shared/ports/idempotency-store.ts names it. An empty `holder`
 * holds nothing; `started_at_ms` outlives every lock.
 */
export const CLAIM = `
local fingerprint, holder, now_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local known = redis.call('HMGET', KEYS[1],
  'fingerprint', 'started_at_ms', 'holder', 'locked_until_ms', 'expires_at_ms', 'answer')
local started_at_ms, outcome = ARGV[3], 'first'
if known[1] and tonumber(known[5]) > now_ms then
  if known[1] ~= fingerprint then return {'other_request', '', ''} end
  if known[6] then return {'answered', known[6], ''} end
  if known[3] ~= '' and tonumber(known[4]) > now_ms then return {'locked', known[4], ''} end
  started_at_ms, outcome = known[2], 'resumed'
else
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'started_at_ms', started_at_ms,
  'holder', holder, 'locked_until_ms', ARGV[4], 'expires_at_ms', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return {'claimed', started_at_ms, outcome}
`;

/** Runs the command ARGV[2] with ARGV[3…] on the operation where ARGV[1] holds it, and else nothing. */
export const IF_HELD = `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
return 1
`;
