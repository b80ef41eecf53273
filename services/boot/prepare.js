/*
 * The first step of `npm run up`: installs the packages if needed, and compiles. Plain CommonJS without dependencies,
 * because a fresh clone has no packages yet. Exits with 1 if `npm start` must not follow.
 */
require('./node-version');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { markRunning, runningProcesses } = require('./running-processes');

const ROOT = path.join(__dirname, '..', '..');
const LOCK = path.join(ROOT, 'package-lock.json');
const SOURCES = ['services', 'shared', 'projections'];
/** A file that every compilation writes. */
const COMPILED = path.join(ROOT, 'dist', 'services', 'boot', 'main.js');
/** What npm has installed, in the same format. npm writes it at the end of an installation. */
const INSTALLED = path.join(ROOT, 'node_modules', '.package-lock.json');

async function prepare() {
  const port = Number(process.env.PORT || 8080);
  if (await isPortInUse(port, process.env.HOST || '127.0.0.1'))
    fail(
      `Port ${port} is in use. If the service already runs there, stop it first. Otherwise set another port: ` +
        `PORT=${port + 1} npm run up`,
    );
  // Marks this process first: of two that start at the same time, at least one sees the other.
  markRunning(ROOT);
  const [running] = runningProcesses(ROOT);
  if (!isInstalled()) {
    if (running !== undefined)
      fail(
        `The packages in node_modules are not those of package-lock.json, and process ${running} is using them. ` +
          'Stop it first, then run npm run up again.',
      );
    npm('ci', '--no-fund', '--no-audit');
  }
  // A running process loads some modules only when it needs them.
  if (running === undefined) npm('run', 'build');
  else if (!isCompiled())
    fail(
      `The sources are newer than the compiled code in dist, and process ${running} is running that code. ` +
        'Stop it first, then run npm run up again.',
    );
}

/** Returns whether the compiled code exists and no source is newer. Does not notice sources that were deleted. */
function isCompiled() {
  const compiled = fs.statSync(COMPILED, { throwIfNoEntry: false });
  if (!compiled) return false;
  return SOURCES.every((folder) =>
    namesIn(path.join(ROOT, folder)).every(
      (name) => fs.statSync(path.join(ROOT, folder, name)).mtimeMs <= compiled.mtimeMs,
    ),
  );
}

/** Returns the paths in a folder and its subfolders; none if it does not exist. */
function namesIn(folder) {
  return fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true }) : [];
}

/** Returns false for a port that the service will reject with a message of its own. */
function isPortInUse(port, host) {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return Promise.resolve(false);
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', (error) => resolve(error.code === 'EADDRINUSE'));
    server.listen(port, host, () => server.close(() => resolve(false)));
  });
}

/** Returns whether node_modules contains exactly the packages of package-lock.json, for this platform. */
function isInstalled() {
  const locked = packagesOf(LOCK);
  const installed = packagesOf(INSTALLED);
  if (!locked || !installed) return false;
  for (const [name, entry] of Object.entries(locked)) {
    const found = installed[name];
    // npm leaves out optional packages of other platforms.
    if (found ? !isSame(entry, found) : name !== '' && !entry.optional) return false;
  }
  return Object.entries(installed).every(([name, entry]) => locked[name] && fitsPlatform(entry));
}

function packagesOf(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** Compares the address only of a package without a hash, because a mirror of the registry has another address. */
function isSame(locked_entry, installed_entry) {
  if (locked_entry.integrity || installed_entry.integrity)
    return locked_entry.integrity === installed_entry.integrity;
  return (
    locked_entry.version === installed_entry.version && locked_entry.resolved === installed_entry.resolved
  );
}

/** Returns false for a package of another platform, such as in a folder that was copied from another machine. */
function fitsPlatform({ os = [process.platform], cpu = [process.arch] }) {
  const fits = (allowed, value) => allowed.some((name) => name === value || name.startsWith('!'));
  return fits(os, process.platform) && fits(cpu, process.arch);
}

/** Runs npm and exits if it fails. npm names its own script in `npm_execpath`, so that it is found on every platform. */
function npm(...args) {
  const script = process.env.npm_execpath;
  const options = { cwd: ROOT, stdio: 'inherit' };
  const { status } = script
    ? spawnSync(process.execPath, [script, ...args], options)
    : spawnSync('npm', args, { ...options, shell: true });
  if (status !== 0) process.exit(status || 1);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

void prepare();
