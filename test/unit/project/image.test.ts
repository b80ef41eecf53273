import { existsSync, readFileSync } from 'node:fs';

const read = (path: string): string => readFileSync(path, 'utf8');
const packages = JSON.parse(read('package.json')) as { scripts: Record<string, string>; bin: object };

/** The paths that the Dockerfile copies from the repository and not from another stage. */
const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
  paths!.split(' '),
);

test('the paths that the Dockerfile copies exist and pass .dockerignore, and the tests do not', () => {
  const let_in = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path]) => path!);
  expect(copied).toContain('services');
  for (const path of copied) {
    expect([path, existsSync(path)]).toEqual([path, true]);
    expect(let_in).toContain(path.split('/')[0]);
  }
  expect(let_in).not.toContain('test');
});

test.each(['Dockerfile', 'docker-compose.yml', 'package.json'])(
  '%s starts programs that are built',
  (file) => {
    const programs = [...read(file).matchAll(/\bdist\/((?:services|shared|projections)[\w/-]*)\.js\b/g)];
    expect(programs.length).toBeGreaterThan(0);
    for (const [, path] of programs) expect([path, existsSync(`${path}.ts`)]).toEqual([path, true]);
  },
);

test('a container starts Node with the options of `npm start`', () => {
  const [, options] = /^exec node (\S+) dist/.exec(packages.scripts.start!)!;
  expect(read('Dockerfile')).toContain(`NODE_OPTIONS=${options}`);
});

test('the product loads no development dependency at run time', () => {
  const { dependencies, devDependencies } = packages as unknown as Record<string, Record<string, string>>;
  expect(Object.keys(dependencies!)).toEqual(
    expect.arrayContaining(['swagger-ui-dist', 'lru-cache', 'ipaddr.js']),
  );
  expect(Object.keys(devDependencies!)).toEqual(expect.arrayContaining(['testcontainers', 'knip']));
});
