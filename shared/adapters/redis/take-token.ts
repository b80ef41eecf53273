/**
 * `takeToken` of shared/ports/token-bucket.ts as a script, once or several times at the same moment, with the same
 * arithmetic in the same order, so that both come to the same state to the last bit. It gives back the state as it was
 * (empty where there was none): the verdicts follow from that. A number is written with 17 digits, which is exact.
 *
 * KEYS: the bucket. ARGV: burst, refill per second, requests per day (empty: any number), now in Unix milliseconds,
 * how many tokens are asked for.
 */
export const TAKE_TOKEN = `
local DAY_MS, CLOCK_JITTER_MS, ROUNDING, KEPT_LONGER_MS = 86400000, 10000, 1e-9, 60000
local burst, refill_per_s, now_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local per_day = ARGV[3] ~= '' and tonumber(ARGV[3]) or math.huge

local stored = redis.call('GET', KEYS[1])
local tokens, at_ms, day, day_count = burst, now_ms, math.floor(now_ms / DAY_MS), 0
local clock_was_set_back = false
if stored then
  local before = {}
  for number in string.gmatch(stored, '%S+') do before[#before + 1] = tonumber(number) end
  local overtaken = now_ms < before[2] and before[2] - now_ms <= CLOCK_JITTER_MS
  if overtaken then at_ms = before[2] end
  clock_was_set_back = at_ms < before[2]
  day = math.floor(at_ms / DAY_MS)
  if day <= before[3] then day_count = before[4] end
  local elapsed_s = math.max(0, at_ms - before[2]) / 1000
  tokens = math.min(burst, before[1] + elapsed_s * refill_per_s)
end

local allowed = false
for _ = 1, tonumber(ARGV[5]) do
  if tokens + ROUNDING < 1 or day_count >= per_day then break end
  allowed = true
  tokens = math.max(0, tokens - 1)
  day_count = day_count + 1
end
if allowed or clock_was_set_back or not stored then
  local full_ms = at_ms + math.max(0, burst - tokens) / refill_per_s * 1000
  local idle_from_ms = math.max(full_ms, (day + 1) * DAY_MS)
  local state = string.format('%.17g %.17g %.17g %.17g', tokens, at_ms, day, day_count)
  redis.call('SET', KEYS[1], state, 'PX', math.ceil(idle_from_ms - at_ms) + KEPT_LONGER_MS)
end
return stored or ''
`;
