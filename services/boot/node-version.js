/*
 * Ends the process with one line if Node.js is older than package.json asks for. Every program loads it first: with an
 * old Node.js other modules fail while they load. Plain CommonJS in old syntax, so that an old Node.js can run it.
 */
const needed = /\d+\.\d+/.exec(packageFile().engines.node)[0];

if (isOlder(process.versions.node, needed)) {
  process.stderr.write(
    `catalog: Node.js ${process.versions.node} is too old. Install Node.js ${needed} or newer.\n`,
  );
  process.exit(1);
}

/** Reads package.json from `services/boot`, or from `dist/services/boot`. */
function packageFile() {
  try {
    return require('../../package.json');
  } catch (_) {
    return require('../../../package.json');
  }
}

/** Compares major and minor version. */
function isOlder(version, minimum) {
  const numbers = version.split('.').map(Number);
  const least = minimum.split('.').map(Number);
  return numbers[0] === least[0] ? numbers[1] < least[1] : numbers[0] < least[0];
}
