import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

// The compiled test runs in dist/test/unit/project, but reads the sources.
const root = resolve(process.cwd());

const DOMAIN = ['shared/kernel', 'shared/catalog'];
/** The modules that all services may import. */
const SHARED = [...DOMAIN, 'shared/api', 'shared/ports', 'shared/http'];

/**
 * What the files of each folder may import, in addition to their own folder. A folder may import only what is
 * declared above it.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'shared/kernel': [],
  'shared/catalog': ['shared/kernel'],
  'shared/api': DOMAIN,
  'shared/ports': DOMAIN,
  'shared/adapters': [...DOMAIN, 'shared/ports'],
  'shared/http': [...DOMAIN, 'shared/api', 'shared/ports'],
  'shared/client': [],
  'shared/images': DOMAIN,
  'projections/views': DOMAIN,
  'projections/engine': [...DOMAIN, 'shared/ports', 'projections/views'],
  'projections/maintenance': [...DOMAIN, 'shared/ports', 'projections/views', 'projections/engine'],
  'projections/pipeline': [...DOMAIN, ...['shared/ports', 'projections/engine', 'projections/maintenance']],
  'services/command': [...SHARED, 'shared/images'],
  'services/query': SHARED,
  'services/edge': [...SHARED, 'services/query'],
  'services/auth': SHARED,
  'services/docs': SHARED,
  'services/metrics': SHARED,
  'services/tracing': [...SHARED, 'projections/engine'],
  'services/media': [...SHARED, 'shared/images', 'projections/engine', 'services/command'],
  'services/webhooks': [...SHARED, 'projections/engine', 'services/command', 'services/query'],
  'services/import': [...SHARED, 'projections/engine', 'services/command', 'services/query'],
  'services/feeds': [...SHARED, 'services/query', 'services/import'],
  'services/demo': [...SHARED, 'projections/engine', 'services/command', 'services/import'],
  'services/operator': [...SHARED, 'projections/maintenance', 'services/command'],
  'services/web': [
    ...SHARED,
    ...['shared/client', 'projections/maintenance', 'services/command', 'services/import', 'services/feeds'],
  ],
  'services/mcp': SHARED,
  'services/ucp': [...SHARED, 'services/mcp', 'shared/client', 'services/feeds', 'services/web'],
  'services/boot': [
    'services/web',
    ...SHARED,
    ...['shared/adapters', 'shared/images'],
    ...['projections/engine', 'projections/maintenance', 'projections/pipeline'],
    ...[
      'auth',
      'command',
      'demo',
      'docs',
      'edge',
      'feeds',
      'import',
      'mcp',
      'media',
      'metrics',
      'operator',
      'query',
      'tracing',
      'ucp',
      'webhooks',
    ].map((name) => `services/${name}`),
  ],
  'services/cli': [
    ...SHARED,
    ...['projections/engine', 'projections/maintenance', 'projections/pipeline'],
    ...['boot', 'command', 'demo', 'feeds', 'import', 'media', 'query'].map((name) => `services/${name}`),
  ],
};

/** Files without effects. They import the kernel, the catalog, zod and, for hashes, `node:crypto`. */
const PURE = /^projections\/views\/|^shared\/catalog\//;

interface Import {
  readonly from: string;
  /** A path below the root of the repository, or the name of a module. */
  readonly to: string;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import|(?:import|require)\()\s*'([^'\s]+)'/g)].map(([, target]) => {
    const to = target!.startsWith('.') ? relative(root, resolve(root, dirname(file), target!)) : target!;
    return { from: file, to };
  });
}

const files = ['services', 'shared', 'projections'].flatMap(sources);
const imports = files.flatMap(importsOf);
const folderOf = (path: string): string =>
  path
    .replace(/\.tsx?$/, '')
    .split('/')
    .slice(0, 2)
    .join('/');
const isOurs = (path: string): boolean => /^(services|shared|projections)\//.test(path);
const show = ({ from, to }: Import): string => `${from} → ${to}`;

test('the repository has sources to check', () => {
  expect(files.length).toBeGreaterThan(40);
  expect(imports.length).toBeGreaterThan(100);
});

test('every folder declares what it may import, and only folders declared above it', () => {
  const folders = Object.keys(MAY_IMPORT);
  expect(files.map(folderOf).filter((folder) => !folders.includes(folder))).toEqual([]);
  const upwards = Object.entries(MAY_IMPORT).flatMap(([folder, allowed]) =>
    allowed
      .filter((below) => !folders.slice(0, folders.indexOf(folder)).includes(below))
      .map((below) => `${folder} → ${below}`),
  );
  expect(upwards).toEqual([]);
});

test('no import breaks the rules of its folder', () => {
  const wrong = imports.filter(({ from, to }) => {
    if (!isOurs(to) || folderOf(to) === folderOf(from)) return false;
    return !MAY_IMPORT[folderOf(from)]?.includes(folderOf(to));
  });
  expect(wrong.map(show)).toEqual([]);
});

test('decide, evolve and view files import only the kernel, the catalog and zod', () => {
  const allowed = (to: string, from: string): boolean =>
    to === 'zod' ||
    to === 'node:crypto' ||
    to.startsWith('shared/kernel/') ||
    to.startsWith('shared/catalog/') ||
    dirname(to) === dirname(from);
  const wrong = imports.filter(({ from, to }) => PURE.test(from) && !allowed(to, from));
  expect(wrong.map(show)).toEqual([]);
});

test('the client imports only its own files', () => {
  const of_client = imports.filter(({ from }) => from.startsWith('shared/client/'));
  expect(of_client.length).toBeGreaterThan(10);
  expect(of_client.filter(({ to }) => !to.startsWith('shared/client/')).map(show)).toEqual([]);
});

test('the console imports of ours only its own files, the client and rules without imports, and nothing imports it', () => {
  const rules = 'shared/catalog/amounts';
  const of = (path: string): boolean => path.startsWith('services/web/console/');
  const of_console = imports.filter(({ from, to }) => of(from) && isOurs(to));
  expect(of_console.length).toBeGreaterThan(50);
  expect(of_console.filter(({ to }) => !of(to) && to !== rules).map(show)).toEqual([]);
  expect(importsOf(`${rules}.ts`)).toEqual([]);
  expect(imports.filter(({ from, to }) => of(to) && !of(from)).map(show)).toEqual([]);
});

test('only shared/images imports the image library, and it imports only the catalog', () => {
  const of = (path: string): boolean => path.startsWith('shared/images/');
  expect(imports.filter(({ to, from }) => to === 'sharp' && !of(from)).map(show)).toEqual([]);
  const known = (to: string): boolean => of(to) || to === 'sharp' || to.startsWith('shared/catalog/');
  expect(imports.filter(({ to, from }) => of(from) && !known(to)).map(show)).toEqual([]);
});

test('a start without images does not load the image library', () => {
  const compiled = resolve(__dirname, '../../..');
  const loads = (roots: readonly string[], then = ''): string => {
    const script =
      roots.map((root) => `const at${roots.indexOf(root)} = require('${join(compiled, root)}');`).join('') +
      `${then};process.stdout.write(String(Object.keys(require.cache).some((path) => /[/]sharp[/]/.test(path))))`;
    return execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  };
  expect(
    loads([
      'services/cli/program',
      'services/boot/all-in-one',
      'services/boot/pipelines',
      'services/boot/apps',
    ]),
  ).toBe('false');
  expect(loads(['shared/images/sharp'], 'at0.loadSharp()')).toBe('true');
});

test('no imports form a cycle, including types', () => {
  const known = new Set(files);
  const next = new Map<string, string[]>(files.map((file) => [file, []]));
  for (const { from, to } of imports)
    for (const path of [`${to}.ts`, `${to}.tsx`, `${to}/index.ts`])
      if (known.has(path)) next.get(from)!.push(path);
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '));
    if (way.includes(file) || done.has(file)) return;
    for (const target of next.get(file)!) walk(target, [...way, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  expect(circles).toEqual([]);
});

test('only services/tracing imports OpenTelemetry, and only one of its files imports the SDK', () => {
  const of_tracing = imports.filter(({ to }) => to.startsWith('@opentelemetry/'));
  expect(of_tracing.filter(({ from }) => folderOf(from) !== 'services/tracing').map(show)).toEqual([]);
  const sdk = /^@opentelemetry\/(?!api$|core$)/;
  expect([...new Set(of_tracing.filter(({ to }) => sdk.test(to)).map(({ from }) => from))]).toEqual([
    'services/tracing/sdk.ts',
  ]);
});

test('no product file imports the tests', () => {
  expect(imports.filter(({ to }) => to.startsWith('test/')).map(show)).toEqual([]);
});
