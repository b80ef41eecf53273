const { execFile, execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { setTimeout } = require('node:timers/promises');
const { promisify } = require('node:util');
const { record } = require('./durations');

/*
 * node .ci/openapi.js
 *
 * Starts the built service with its demo store, in a folder of its own, and checks the OpenAPI document that it serves:
 *   - Redocly's rules `recommended` (less `REDOCLY_RULES`) and Spectral's rules `oas` find nothing;
 *   - Schemathesis generates requests from the document, with a public and with a secret key, and finds no answer that
 *     differs from the document;
 *   - the conformance tests of the Model Context Protocol find nothing at `/ucp/mcp`.
 * Then reads the demo store with the models of the official Python SDK of UCP (`.ci/ucp.py`).
 * The programs are installed into CATALOG_OPENAPI_TOOLS (default: a folder per user in the temp folder), because their
 * dependencies are many times those of the service. Without network or Python, their checks are skipped.
 */

const LINTERS = {
  '@redocly/openapi-core': '2.64.0',
  '@stoplight/spectral-core': '1.24.1',
  '@stoplight/spectral-parsers': '1.0.5',
  '@stoplight/spectral-rulesets': '1.23.1',
};
const SCHEMATHESIS = 'schemathesis==4.32.5';
const UCP_SDK = 'ucp-sdk==0.5.0';
const CONFORMANCE = '@modelcontextprotocol/conformance@0.1.16';
/** Those for a server of tools. The others need prompts, resources, or tools with names of their own. */
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
];

const tools =
  process.env.CATALOG_OPENAPI_TOOLS ?? join(tmpdir(), `catalog-openapi-tools.${process.getuid()}`);
const PNG = `89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489
  0000000d4944415478da63fccff0bf1e00060502fe4ad0e0b60000000049454e44ae426082`.replace(/\s/g, '');

// --- Installation ---

/** Returns whether a program is installed. Says so if it cannot be. */
function installed(name, install) {
  try {
    install();
    return true;
  } catch (error) {
    console.log(`SKIPPED: ${name}, because it cannot be installed: ${String(error.message).split('\n')[0]}`);
    return false;
  }
}

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });

const installLinters = () =>
  installPackages(
    'linters',
    Object.entries(LINTERS).map(([name, version]) => `${name}@${version}`),
  );

const installConformance = () => {
  if (!require('node:fs').globSync) throw new Error('it needs Node.js 22');
  installPackages('conformance', [CONFORMANCE]);
};

function installPackages(name, packages) {
  installOnce(packages.join(' '), join(tools, name), (folder) => {
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];
    run('npm', 'install', ...options, '--prefix', folder, ...packages);
  });
}

function installPython(wanted, name) {
  installOnce(wanted, join(tools, name), (folder) => {
    run('python3', '-m', 'venv', folder);
    run(join(folder, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', wanted);
  });
}

/** Calls `install` with an empty folder unless the folder has what is wanted. */
function installOnce(wanted, folder, install) {
  const marker = join(folder, 'complete');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  install(folder);
  writeFileSync(marker, wanted);
}

// --- The service ---

/** Starts the service on a free port with limits that the checks do not reach. Resolves with its URL. */
function startService(data, settings = {}) {
  const limit = '1000000/100000000/1000000';
  const env = {
    ...{ PATH: process.env.PATH, PORT: '0', DATA_DIR: data, ...settings },
    ...{ RATE_LIMIT_PUBLIC: limit, RATE_LIMIT_SECRET: limit, RATE_LIMIT_AUTH: '100000/100000' },
  };
  const child = spawn(process.execPath, ['dist/services/boot/main.js'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = createInterface({ input: child.stderr });
  const url = new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    lines.on('line', (line) => {
      const { msg, url, level } = line.startsWith('{') ? JSON.parse(line) : {};
      if (msg === 'listening') resolve(url);
      // A 500 is a fault, also if no check looks at it.
      if (level === 'error') console.log(line);
    });
  });
  return { child, url };
}

async function until(what, attempt) {
  for (const end = Date.now() + 180_000; Date.now() < end; await setTimeout(200)) {
    const result = await attempt();
    if (result) return result;
  }
  throw new Error(`${what} took longer than three minutes`);
}

async function json(url, options) {
  const response = await fetch(url, options);
  return (await response.json()).data;
}

async function tokenOf(url, key) {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  return (await json(`${url}/auth/token`, { method: 'POST', headers, body: '{"ttl_minutes":60}' })).token;
}

/** Returns what `.ci/openapi/hooks.py` puts into requests: ids of the demo store, and a picture. */
async function knownResources(url, { store_id, secret_key }) {
  const headers = { Authorization: `Bearer ${await tokenOf(url, secret_key)}` };
  const [listing] = await json(`${url}/api/listings`, { headers });
  const media = await until('a picture', async () => {
    const publications = await json(`${url}/api/publications?expand=media&limit=50`, { headers });
    return publications.flatMap((one) => one.media.data).find(({ status }) => status === 'ready');
  });
  return {
    ...{ CATALOG_STORE: store_id, CATALOG_LISTING: listing.id, CATALOG_MEDIA: media.id },
    ...{ CATALOG_PICTURE: media.url.split('/').pop(), CATALOG_UPLOAD: PNG },
  };
}

// --- Checks ---

/**
 * `/api/listing/by-handle/{handle}` and `/api/listing/{id}/publications` are different paths, because `id` is a UUID. The
 * rule ignores formats. The service matches fixed segments first.
 */
const REDOCLY_RULES = { 'no-ambiguous-paths': 'off' };

const requireLinter = createRequire(join(tools, 'linters/package.json'));

async function lintWithRedocly(text, url) {
  const { createConfig, lintFromString } = requireLinter('@redocly/openapi-core');
  const config = await createConfig({ extends: ['recommended'], rules: REDOCLY_RULES });
  const problems = await lintFromString({ source: text, absoluteRef: url, config });
  return problems.map(
    ({ severity, ruleId, message, location }) =>
      `${severity} ${ruleId}: ${message} (${location[0]?.pointer})`,
  );
}

async function lintWithSpectral(text) {
  const { Document, Spectral } = requireLinter('@stoplight/spectral-core');
  const { Json } = requireLinter('@stoplight/spectral-parsers');
  const { oas } = requireLinter('@stoplight/spectral-rulesets');
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[oas, 'recommended']] });
  const problems = await spectral.run(new Document(text, Json));
  return problems.map(({ code, message, path }) => `${code}: ${message} (${path.join('.')})`);
}

/** Runs Schemathesis with a key. Its own errors count as failures, because they hide cases. Its output has their texts after a heading. */
async function generateRequests(url, key, resources, work) {
  const env = {
    ...{ PATH: process.env.PATH, HOME: work, PYTHONPATH: join(__dirname, 'openapi') },
    ...{
      PYTHONDONTWRITEBYTECODE: '1',
      CATALOG_KEY: key,
      CATALOG_TOKEN: await tokenOf(url, key),
      ...resources,
    },
  };
  const config = join(__dirname, 'openapi/schemathesis.toml');
  const report = join(work, 'report.json');
  const options = ['--checks', 'all', '--no-color', '--report', 'json', '--report-json-path', report];
  const args = ['--config-file', config, 'run', `${url}/openapi.json`, ...options];
  const child = spawn(join(tools, 'schemathesis/bin/schemathesis'), args, { cwd: work, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [code] = await once(child, 'exit');
  const { test_cases, errors } = JSON.parse(readFileSync(report, 'utf8'));
  const found = test_cases.unique_failures + errors.length;
  if (code !== 0) console.log(output);
  const failures = code === 0 ? found : Math.max(found, 1);
  return {
    cases: test_cases.generated,
    failures,
    texts: output.replace(/^.*?(?==+ (ERRORS|FAILURES) =)/s, ''),
  };
}

/** Runs a scenario of the conformance tests. Returns its output if it fails. */
async function conform(url, scenario, work) {
  const program = join(tools, 'conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const args = [program, 'server', '--url', `${url}/ucp/mcp`, '--scenario', scenario];
  const child = spawn(process.execPath, args, { cwd: work });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [code] = await once(child, 'exit');
  return code === 0 ? undefined : output;
}

// --- Run ---

let [passed, failed, skipped] = [0, 0, 0];

/** Counts the failures of a check, and notes them for the report of a CI run. */
function count(check, failures, output) {
  failed += failures;
  if (failures === 0) passed += 1;
  else record({ failure: `${check}: ${failures} failures`, message: output });
}

async function lint(url) {
  const text = await (await fetch(`${url}/openapi.json`)).text();
  for (const [name, check] of [
    ['Redocly', lintWithRedocly],
    ['Spectral', lintWithSpectral],
  ]) {
    const problems = await check(text, url);
    count(name, problems.length, problems.join('\n'));
    console.log(`${name}: ${problems.length} problems`, ...problems.map((problem) => `\n  ${problem}`));
  }
}

async function fuzz(url, data, work) {
  await until('the demo store', () => existsSync(join(data, 'demo.json')));
  const keys = JSON.parse(readFileSync(join(data, 'demo.json'), 'utf8'));
  const resources = await knownResources(url, keys);
  const sum = { cases: 0, failures: 0 };
  for (const name of ['public_key', 'secret_key']) {
    const { cases, failures, texts } = await generateRequests(url, keys[name], resources, work);
    count(`Schemathesis with a ${name}`, failures, texts);
    sum.cases += cases;
    sum.failures += failures;
  }
  console.log(`Schemathesis: ${sum.cases} cases, ${sum.failures} failures`);
}

async function conformance(url, data, work) {
  await until('the demo store', () => existsSync(join(data, 'demo.json')));
  const outputs = await Promise.all(SCENARIOS.map((scenario) => conform(url, scenario, work)));
  const failures = outputs.filter((output) => output !== undefined);
  count('Conformance of MCP', failures.length, failures.join('\n'));
  console.log(`Conformance of MCP: ${SCENARIOS.length} scenarios, ${failures.length} failures`, ...failures);
}

/** Reads the demo store by UCP. The profile of the service, which has a private address, stands for that of a platform. */
async function readByUcp(work) {
  await withService(join(work, 'ucp'), { WEBHOOKS: 'private' }, async (url, data) => {
    await until('the demo store', () => existsSync(join(data, 'demo.json')));
    const python = join(tools, 'ucp/bin/python');
    const reading = promisify(execFile)(python, [join(__dirname, 'ucp.py'), url]);
    const { stdout, stderr = '' } = await reading.catch((error) => error);
    const text = stdout.trim() === '' ? stderr : `${stdout.trim()} answers read`;
    count('The SDK of UCP', stdout.trim() === '' ? 1 : 0, stderr);
    console.log(`The SDK of UCP: ${text}`);
  });
}

/** Runs the work with a service on a new folder, then stops the service. */
async function withService(data, settings, check) {
  const { child, url } = startService(data, settings);
  try {
    await check(await url, data);
  } finally {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  }
}

async function main() {
  const has_linters = installed('Redocly and Spectral', installLinters);
  const has_schemathesis = installed('Schemathesis', () => installPython(SCHEMATHESIS, 'schemathesis'));
  const has_conformance = installed('The conformance tests of MCP', installConformance);
  const has_ucp = installed('The SDK of UCP', () => installPython(UCP_SDK, 'ucp'));
  skipped =
    (has_linters ? 0 : 2) + (has_conformance ? 0 : 1) + (has_schemathesis ? 0 : 2) + (has_ucp ? 0 : 1);
  const work = mkdtempSync(join(tmpdir(), 'catalog-openapi-'));
  try {
    await withService(join(work, 'data'), {}, async (url, data) => {
      if (has_linters) await lint(url);
      if (has_conformance) await conformance(url, data, work);
      if (has_schemathesis) await fuzz(url, data, work);
    });
    if (has_ucp) await readByUcp(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  // In the form of jest, from which .ci/run adds up its sum.
  console.log(
    `Tests: ${failed} failed, ${skipped} skipped, ${passed} passed, ${failed + skipped + passed} total`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

main();
