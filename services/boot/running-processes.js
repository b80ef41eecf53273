// Plain CommonJS without dependencies: `prepare.js` runs it before the packages are installed and the sources compiled.
const fs = require('node:fs');
const path = require('node:path');

/** One empty file per process that uses the installed packages of a folder. Its name is the process id. */
const marksFolder = (root) => path.join(root, 'dist', '.running');

/**
 * Records that this process uses the packages installed in `root`, until it exits. Does nothing in a read-only folder,
 * such as in a container, because nothing can be installed there either.
 * @param {string} root the folder of package.json
 */
function markRunning(root) {
  const mark = path.join(marksFolder(root), String(process.pid));
  try {
    fs.mkdirSync(marksFolder(root), { recursive: true });
    fs.writeFileSync(mark, '');
  } catch {
    return;
  }
  // Removes the marks of processes that were killed.
  runningProcesses(root);
  process.once('exit', () => fs.rmSync(mark, { force: true }));
}

/**
 * Returns the ids of the other processes that use the packages installed in `root`.
 * @param {string} root the folder of package.json
 * @returns {number[]}
 */
function runningProcesses(root) {
  const running = [];
  for (const name of namesIn(marksFolder(root))) {
    const pid = Number(name);
    if (pid === process.pid) continue;
    if (isRunning(pid)) running.push(pid);
    else fs.rmSync(path.join(marksFolder(root), name), { force: true });
  }
  return running;
}

function namesIn(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process runs and belongs to another user.
    return error.code === 'EPERM';
  }
  // After a kill, the system may give the id to a process of another program. On Linux, /proc shows the program.
  try {
    const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    // npx starts the command line by its link.
    return [`services${path.sep}`, `.bin${path.sep}catalog`].some((part) => command.includes(part));
  } catch {
    return true;
  }
}

module.exports = { markRunning, runningProcesses };
