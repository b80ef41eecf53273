/*
 * The first step of `npm run up`: installs the packages if the lock file has changed, and compiles. Plain CommonJS without
 * dependencies, because a fresh clone has no packages yet. Exits with 1 if `npm start` must not follow.
 */
require('./node-version');
const { spawnSync } = require('node:child_process');
const { statSync } = require('node:fs');
const { createServer } = require('node:net');
const { join } = require('node:path');

const ROOT = join(__dirname, '..', '..');
const port = Number(process.env.PORT || 8080);

// The service itself would say so only after the packages and the compiled code of a running one have been replaced.
const server = createServer();
server.once('error', (error) => (error.code === 'EADDRINUSE' ? fail() : prepare()));
// The service rejects an invalid port with a message of its own.
if (port > 0 && port < 65_536)
  server.listen(port, process.env.HOST || '127.0.0.1', () => server.close(prepare));
else prepare();

function prepare() {
  // npm writes this file at the end of an installation.
  if (!(changedMs('node_modules/.package-lock.json') >= changedMs('package-lock.json')))
    npm('ci', '--no-fund', '--no-audit');
  npm('run', 'build');
}

/** Returns undefined if the file does not exist. */
function changedMs(path) {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs;
}

/** Runs npm and exits if it fails. npm names its own script in `npm_execpath`, so that it is found on every platform. */
function npm(...args) {
  const { status } = spawnSync(process.execPath, [process.env.npm_execpath, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status || 1);
}

function fail() {
  process.stderr.write(
    `Port ${port} is in use. If the service already runs there, stop it first. Otherwise set another port: ` +
      `PORT=${port + 1} npm run up\n`,
  );
  process.exit(1);
}
