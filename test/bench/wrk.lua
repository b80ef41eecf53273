-- Sends the requests of a file in turn (`wrk.ts`). Arguments: the file, the index of the first request, the number of
-- connections, for how many ms requests are sent, and optionally how many are sent at most. Prints `stopped` and
-- the elapsed ms after the last response, and the figures as a line of JSON.
local ffi = require('ffi')
ffi.cdef [[
  typedef struct { long s; long ns; } bench_time;
  int clock_gettime(int clock, bench_time *time);
]]
local MONOTONIC = 1
local NEVER_MS = 1e9

local time = ffi.new('bench_time')
local requests = {}
local index, sent, idle = 0, 0, 0
local connections, duration_ms, sent_max
local started_ms

local function now_ms()
  ffi.C.clock_gettime(MONOTONIC, time)
  return tonumber(time.s) * 1e3 + tonumber(time.ns) / 1e6
end

function init(args)
  io.stdout:setvbuf('line')
  local file = assert(io.open(args[1], 'rb'))
  for request in file:read('*a'):gmatch('[^%z]+') do requests[#requests + 1] = request end
  file:close()
  index = tonumber(args[2])
  connections = tonumber(args[3])
  duration_ms = tonumber(args[4])
  sent_max = tonumber(args[5]) or math.huge
end

-- wrk calls this before each request, when its connection waits for no response. So all responses have arrived when every
-- connection waits here.
function delay()
  started_ms = started_ms or now_ms()
  if sent < sent_max and now_ms() < started_ms + duration_ms then
    sent = sent + 1
    return 0
  end
  idle = idle + 1
  if idle == connections then
    wrk.thread:stop()
    print('stopped', now_ms() - started_ms)
  end
  return NEVER_MS
end

-- wrk also asks for a request before it starts, and does not send it.
function request()
  local text = requests[index % #requests + 1]
  if sent > 0 then index = index + 1 end
  return text
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"responses":%d,"p50_ms":%.3f,"p99_ms":%.3f,"failed":%d}',
    summary.requests, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
