const { readFileSync } = require('node:fs');

/*
 * node .ci/contract-table.js RESULTS [--stand-in]
 *
 * Prints a table of the contract suites by port and adapter, from the file that `contract-reporter.js` wrote.
 * `contract` counts the passed tests that every adapter of the port must pass, `own` the passed tests of this adapter
 * alone. Lists the skipped tests. Prints `not run` for a pair without results. If a file ran several times, its last
 * run counts. --stand-in says that the server behind EVENTSTORE_URL was not a real one.
 */
const [results, flag] = process.argv.slice(2);

/** Test files and the pairs of port and adapter that they test. A file's own tests belong to its first pair. */
const PAIRS = [
  [/^(sqlite-)?event-store$/, ['event store', 'SQLite']],
  [/^eventstoredb/, ['event store', 'EventStoreDB']],
  [/^(sqlite-)?view-store$|^sqlite-changed-keys$/, ['view store', 'SQLite'], ['word search', 'SQLite']],
  [/^mongodb-(view-store|changed-keys)$/, ['view store', 'MongoDB'], ['word search', 'MongoDB']],
  [/^mongodb-faults$/, ['view store', 'MongoDB']],
  [/^job-queue$/, ['job queue', 'one process']],
  [/^bullmq-(job-queue|faults)$/, ['job queue', 'BullMQ']],
  [/^rate-limiter$/, ['rate limiter', 'SQLite'], ['rate limiter', 'memory']],
  [/^redis-rate-limiter$/, ['rate limiter', 'Redis']],
  [/^idempotency-store$/, ['idempotency store', 'SQLite']],
  [/^redis-idempotency-store$/, ['idempotency store', 'Redis']],
  [/^blob-store$/, ['blob store', 'files']],
  [/^mongodb-blob-store$/, ['blob store', 'GridFS']],
  [/^media-tasks$/, ['media tasks', 'in process']],
  [/^bullmq-media-tasks$/, ['media tasks', 'BullMQ']],
];

/** Names of the contract suites and their ports. */
const PORTS = {
  'event store': 'event store',
  'subscriptions to the event store': 'event store',
  snapshots: 'event store',
  'view store': 'view store',
  documents: 'view store',
  pages: 'view store',
  'the generation': 'view store',
  'changed keys': 'view store',
  search: 'word search',
  'job queue': 'job queue',
  'rate limiter': 'rate limiter',
  'idempotency store': 'idempotency store',
  'blob store': 'blob store',
  'media tasks': 'media tasks',
};
const SUITE = new RegExp(`^(${Object.keys(PORTS).join('|')}) on ([^:]+)$`);
const STAND_IN = 'EventStoreDB (stand-in)';

function adapterOf(name) {
  if (name === 'the EventStoreDB stand-in') return STAND_IN;
  return name === 'EventStoreDB' && flag === '--stand-in' ? STAND_IN : name;
}

function readResults() {
  const lines = readFileSync(results, 'utf8').trim().split('\n').filter(Boolean);
  const tests = lines.map((line) => JSON.parse(line));
  const last = new Map();
  for (const { file, began_ms } of tests) last.set(file, Math.max(began_ms, last.get(file) ?? 0));
  return tests.filter(({ file, began_ms }) => began_ms === last.get(file));
}

const nameOf = (port, adapter) => `${port.padEnd(20)}${adapter}`;
const rows = new Map();
function rowOf(port, adapter) {
  const name = nameOf(port, adapter);
  if (!rows.has(name)) rows.set(name, { contract: 0, own: 0, failed: 0, skipped: [] });
  return rows.get(name);
}

/** Returns the pair of the contract that a test belongs to, if any: that of the innermost suite with such a name. */
function pairOf({ suites }) {
  const found = suites.map((suite) => SUITE.exec(suite)).findLast(Boolean);
  return found ? [PORTS[found[1]], adapterOf(found[2])] : undefined;
}

function count({ file, suites, test, status }) {
  const [, ...pairs] = PAIRS.find(([files]) => files.test(file)) ?? [];
  const own = pairs.map(([port, adapter]) => [port, adapterOf(adapter)]);
  const contract = pairOf({ suites });
  if (status === 'passed' || status === 'failed') {
    const pair = contract ?? own[0];
    if (!pair) return;
    const row = rowOf(...pair);
    if (status === 'failed') row.failed++;
    else row[contract ? 'contract' : 'own']++;
    return;
  }
  // A suite without its server is reported as one skipped test.
  for (const pair of contract ? [contract] : own)
    rowOf(...pair).skipped.push(`${file}: ${[...suites, test].join(' › ')}`);
}

function print(columns) {
  const [name, ...numbers] = columns;
  console.log(name.padEnd(46) + numbers.map((text) => String(text).padStart(10)).join(''));
}

readResults().forEach(count);
for (const [, ...pairs] of PAIRS)
  for (const [port, adapter] of pairs) {
    const name = nameOf(port, adapter);
    if (![...rows.keys()].some((known) => known.startsWith(name))) rows.set(name, undefined);
  }

const ports = [...new Set(Object.values(PORTS))];
const order = (name) => ports.findIndex((port) => name.startsWith(port));
const sorted = [...rows].sort(([one], [other]) => order(one) - order(other) || (one < other ? 1 : -1));
print(['port                adapter', 'contract', 'own', 'failed', 'skipped']);
for (const [name, row] of sorted)
  print(row ? [name, row.contract, row.own, row.failed, row.skipped.length] : [name, 'not run']);
for (const [name, row] of sorted)
  for (const test of row?.skipped ?? []) console.log(`skipped: ${name.replace(/ {2,}/, ' on ')}: ${test}`);
