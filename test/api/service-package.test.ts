import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fetch } from '../support/fetch';
import { freeOwnPort } from '../support/own-port';
import { environmentWithoutServers } from '../support/own-servers';
import { type PackedPackage, packFolder, unpackPackage } from '../support/packed';
import { readinessOf } from '../support/readiness';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

let packed: PackedPackage;
let home: TempDir;
let installed: string;

/** Installs the package with the dependencies that it names, and no others. They are those of this project. */
beforeAll(async () => {
  packed = await packFolder(process.cwd());
  home = makeTempDir();
  installed = unpackPackage(packed, home.path, 'catalog-service');
  const { dependencies, optionalDependencies } = manifestOf(installed);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const link = join(home.path, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve('node_modules', name), link);
  }
});
afterAll(() => home.remove());

test('contains what runs, and neither sources nor tests', () => {
  const others = packed.files.filter(
    (path) =>
      !/^dist\/(services|shared|projections)\/.*\.m?js$/.test(path) &&
      !/^dist\/services\/web\/console\/(index\.html|assets\/[\w.-]+\.(css|svg|woff2))$/.test(path) &&
      !/^shared\/client\/dist\/(esm\/)?[\w-]+\.(js|d\.ts)$/.test(path) &&
      !/^services\/demo\/pictures\/[\w-]+\.jpg$|^docs\/site\/dist\//.test(path),
  );
  expect(others.sort()).toEqual([
    ...['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'services/demo/catalog.jsonl'],
    'shared/client/dist/esm/package.json',
  ]);
});

test('runs no script when it is installed, and has the version of the client', () => {
  const { name, version, bin, scripts } = manifestOf(installed);
  expect(Object.keys(scripts).filter((script) => /install|^prepare$/.test(script))).toEqual([]);
  expect(version).toBe(manifestOf('shared/client').version);
  // `npx PACKAGE` runs the program with the name of the package.
  expect(Object.keys(bin)).toEqual(['catalog', name]);
});

test('starts a shop with the data in the current folder', async () => {
  const cwd = join(home.path, 'empty');
  mkdirSync(cwd);
  const url = `http://127.0.0.1:${await freeOwnPort()}`;
  const { name, bin } = manifestOf(installed);
  const env = {
    ...environmentWithoutServers(),
    PORT: new URL(url).port,
    DATA_DIR: undefined,
    DEMO: undefined,
  };
  const child = spawn(join(installed, bin[name]!), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  try {
    await waitFor(async () => {
      if (child.exitCode !== null) throw new Error(output);
      return (await readinessOf({ url })).status === 200;
    });
    await waitFor(() => output.includes(`Open the shop: ${url}`));
    expect(output).toContain(`${url}/console. Sign in with "secret_key" of that file.`);
    const shop = await fetch(url, { headers: { accept: 'text/html' } });
    expect(shop.status).toBe(200);
    expect(await shop.text()).toContain('Taza Amancay');
    expect(existsSync(join(cwd, 'data/demo.json'))).toBe(true);
  } finally {
    child.kill('SIGTERM');
    await within(ended, 'the service to end');
  }
  expect(child.exitCode).toBe(0);
});
