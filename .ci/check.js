const { spawn } = require('node:child_process');
const { delimiter, join } = require('node:path');
const { record } = require('./durations');

/*
 * node .ci/check.js [--build]
 *
 * Checks format, lint, types and unused exports, side by side. Builds the client. With --build the compiler that checks the types
 * writes dist, and the console is built, too. Prints what each check that fails has to say, and ends with 1 if one does.
 */
const emits = process.argv.includes('--build');
const CHECKS = {
  'format and lint': 'biome check .',
  types: `tsc -p tsconfig.json${emits ? '' : ' --noEmit'}`,
  // The console is compiled with the types of the built client.
  'the client and the console': [
    'npm run -s build -w catalog-client',
    'tsc -p services/web/console/tsconfig.json',
    ...(emits ? ['npm run -s build -w catalog-console'] : []),
  ].join(' && '),
  'unused exports': 'knip --no-progress',
};

const PATH = [join(__dirname, '..', 'node_modules', '.bin'), process.env.PATH].join(delimiter);

/** Returns whether the command succeeded. */
function run([name, command]) {
  const began_ms = performance.now();
  const child = spawn(command, { shell: true, env: { ...process.env, PATH } });
  let output = '';
  const keep = (data) => {
    output += data;
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = (performance.now() - began_ms) / 1000;
      record({ step: `  ${name}: ${command}`, seconds });
      console.log(`${code === 0 ? 'ok' : 'FAILED'}  ${name} (${command}, ${seconds.toFixed(1)} s)`);
      if (code !== 0) console.log(output);
      resolve(code === 0);
    });
  });
}

Promise.all(Object.entries(CHECKS).map(run)).then((outcomes) => {
  process.exitCode = outcomes.every(Boolean) ? 0 : 1;
});
