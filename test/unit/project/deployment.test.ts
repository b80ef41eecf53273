import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { STOP_TIMEOUT_MS } from '../../../services/boot/process';
import { operations } from '../../../shared/api/operations';
import { reads } from '../../../shared/api/operations/reads';
import { tokens } from '../../../shared/api/operations/tokens';
import { writes } from '../../../shared/api/operations/writes';
import { errorCodeSchema } from '../../../shared/api/responses/errors';
import { parseConfig, SETTING_NAMES } from '../../../shared/kernel/config';
import { gatewayOfKubernetes } from '../../support/gateway-configuration';
import { describeWithProgram, run } from '../../support/programs';
import { DEFAULT_IMAGES, imageOf } from '../../support/servers/images';
import { withTempDir } from '../../support/temp-dir';

const read = (path: string): string => readFileSync(path, 'utf8');

const OPERATIONS = 'docs/operations';
const SYSTEMD = `${OPERATIONS}/systemd`;
const KUBERNETES = `${OPERATIONS}/kubernetes`;

const dockerfile = read('Dockerfile');
const scripts = JSON.parse(read('package.json')).scripts as Record<string, string>;
/** The environment of the image, by name. */
const image_environment = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV ((?:.*\\\n)*.*)$/gm)].flatMap(([, text]) =>
    [...text!.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
  ),
);
const STOP_S = STOP_TIMEOUT_MS / 1000;

describe('environment variables', () => {
  /** Node.js, the C library and the OpenTelemetry library read these themselves. */
  const READ_BY_OTHERS = /^(NODE_ENV|NODE_OPTIONS|MALLOC_ARENA_MAX|OTEL_\w+)$/;
  const isRead = (name: string): boolean => SETTING_NAMES.includes(name) || READ_BY_OTHERS.test(name);
  const files = readdirSync(OPERATIONS, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.\w+$/.test(name),
  );

  /** Returns the names that a file assigns, and those with an underscore that it mentions. */
  function variablesIn(file: string): string[] {
    const text = read(join(OPERATIONS, file));
    if (file.endsWith('.service')) return text.match(/(?<=^Environment=.*)\b[A-Z_]+(?==)/gm) ?? [];
    // Programs in a page are those of a client, with variables of their own.
    const own = text.replace(/^```js\n[\s\S]*?^```/gm, '');
    return own.match(/\b[A-Z][A-Z_]+(?==)|\b[A-Z]+(?:_[A-Z]+)+\b|(?<=^ {2})[A-Z_]+(?=: )/gm) ?? [];
  }

  test.each(files)('of docs/operations/%s are read by the service', (file) => {
    const codes: readonly string[] = errorCodeSchema.options;
    expect(variablesIn(file).filter((name) => !isRead(name) && !codes.includes(name))).toEqual([]);
  });

  test('in docs/configuration.md are those that the service reads', () => {
    const rows = [...read('docs/configuration.md').matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) /gm)];
    const names = rows.flatMap(([, cell]) => cell!.match(/[A-Z_]+/g)!);
    expect(names.filter((name) => !isRead(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining([...SETTING_NAMES]));
  });

  test('of the image have values that the service accepts', () => {
    expect(Object.keys(image_environment).filter((name) => !isRead(name))).toEqual([]);
    expect(parseConfig(image_environment)).toMatchObject({ HOST: '0.0.0.0', PORT: 8080, WORKER_PORT: 8080 });
  });
});

test('every page names the same order of an upgrade', () => {
  const pages = ['README.md', 'failures.md', 'systemd/README.md', 'kubernetes/README.md'];
  const files = [
    'CHANGELOG.md',
    'docs/howto/deploy-a-new-event.md',
    ...pages.map((page) => `${OPERATIONS}/${page}`),
  ];
  for (const file of files) {
    const text = read(file).replaceAll(/\s+/g, ' ');
    expect([file, text]).toEqual([
      file,
      expect.stringContaining('query processes, then workers, then command processes'),
    ]);
    expect([file, text]).toEqual([file, expect.not.stringContaining('workers first')]);
  }
});

// --- systemd ---

/** Returns the values of each option of a unit, without the sections. */
function optionsOf(unit: string): Record<string, string[]> {
  const options: Record<string, string[]> = {};
  for (const [, name, value] of unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)) {
    options[name!] ??= [];
    options[name!]!.push(value!);
  }
  return options;
}

describe('the systemd units', () => {
  const single = optionsOf(read(`${SYSTEMD}/catalog.service`));
  const template = optionsOf(read(`${SYSTEMD}/catalog@.service`));
  const command = (options: typeof single): string => options.ExecStart![0]!.replace(/^\/usr\/bin\//, '');

  test('start what `npm start` and `npm run start:command`, `start:query` and `start:worker` start', () => {
    expect(`exec ${command(single)}`).toBe(scripts.start);
    for (const part of ['command', 'query', 'worker'])
      expect(`exec ${command(template).replace('%i', part)}`).toBe(scripts[`start:${part}`]);
  });

  test('wait longer for a stop than a stop may take', () => {
    expect(Number(single.TimeoutStopSec![0])).toBeGreaterThan(STOP_S);
  });

  test('continue when Linux ends the process that renders pictures because memory is short', () => {
    expect(single.OOMPolicy).toEqual(['continue']);
    expect(read('services/media/render-role.ts')).toContain('/proc/self/oom_score_adj');
  });

  test('keep the data where the settings say', () => {
    const settings = Object.fromEntries(single.Environment![0]!.split(' ').map((pair) => pair.split('=')));
    expect(parseConfig(settings)).toMatchObject({
      DATA_DIR: `/var/lib/${single.StateDirectory}`,
      DEMO: 'off',
    });
    const example = read(`${SYSTEMD}/catalog.env`).replaceAll(/^#(?=[A-Z_]+=)/gm, '');
    const lines = example.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const pairs = lines.map((line) => [line.replace(/=.*/, ''), line.replace(/^[^=]+=/, '')]);
    expect(() => parseConfig(Object.fromEntries(pairs))).not.toThrow();
    expect(pairs.length).toBeGreaterThan(5);
  });

  describeWithProgram('systemd-analyze', 'systemd-analyze', () => {
    const withUnits = (story: (folder: string) => void): Promise<void> =>
      withTempDir(async (folder) => {
        cpSync(SYSTEMD, folder, { recursive: true });
        for (const name of ['catalog', 'catalog@command', 'catalog@query', 'catalog@worker']) {
          const unit = read(join(SYSTEMD, `${name.replace(/@.*/, '@')}.service`));
          // The program must exist where the units are checked.
          writeFileSync(join(folder, `${name}.service`), unit.replaceAll('/usr/bin/node', process.execPath));
        }
        story(folder);
      });

    test('accepts every option', async () => {
      await withUnits((folder) => {
        const names = ['catalog', 'catalog@command', 'catalog@query', 'catalog@worker'];
        const units = names.map((name) => `./${name}.service`);
        const complaints = run('systemd-analyze', ['verify', ...units], folder).split('\n');
        expect(complaints.filter((line) => line.includes('catalog'))).toEqual([]);
      });
    });

    test('finds few rights that a process does not need', async () => {
      await withUnits((folder) => {
        // Exposure from 0 to 100. A unit without any of these options has 96.
        const limit = ['--offline=true', '--threshold=20'];
        expect(run('systemd-analyze', ['security', ...limit, './catalog.service'], folder)).toContain('OK');
      });
    });
  });
});

// --- Kubernetes ---

// biome-ignore lint/suspicious/noExplicitAny: manifests have many shapes
type Manifest = any;

const manifestsOf = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => {
    if (document.errors?.length > 0) throw document.errors[0]!;
    return document.toJS();
  });

describe('the Kubernetes manifests', () => {
  const kustomization = parse(read(`${KUBERNETES}/kustomization.yaml`));
  const manifests = kustomization.resources.flatMap((file: string) =>
    manifestsOf(read(`${KUBERNETES}/${file}`)),
  ) as Manifest[];
  const ofKind = (kind: string): Manifest[] => manifests.filter((one) => one.kind === kind);
  const deployments = ofKind('Deployment');
  const podOf = (deployment: Manifest) => deployment.spec.template.spec;
  const containerOf = (deployment: Manifest) => podOf(deployment).containers[0];
  const named = (kind: string, name: string) => ofKind(kind).find(({ metadata }) => metadata.name === name);
  const selects = (selector: Record<string, string>, { spec }: Manifest): boolean =>
    Object.entries(selector).every(([label, value]) => spec.template.metadata.labels[label] === value);

  test('are all listed, except an example and an alternative', () => {
    const files = readdirSync(KUBERNETES).filter((name) => name.endsWith('.yaml'));
    const unlisted = files.filter((name) => !kustomization.resources.includes(name));
    expect(unlisted.sort()).toEqual(['ingress.yaml', 'kustomization.yaml', 'secret.example.yaml']);
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual([
      'catalog-command',
      'catalog-query',
      'catalog-worker',
    ]);
  });

  test('set what the service accepts', () => {
    const [secret] = manifestsOf(read(`${KUBERNETES}/secret.example.yaml`));
    const { data } = named('ConfigMap', 'catalog');
    const settings = { ...image_environment, ...data, ...secret.stringData };
    expect(parseConfig(settings)).toMatchObject({
      PORT: 8080,
      WORKER_PORT: 8080,
      DATA_DIR: '/data',
      DEMO: 'off',
    });
    // Without one of them a pod would use an embedded store, or a token key of its own.
    for (const name of ['EVENTSTORE_URL', 'REDIS_URL', 'MONGODB_URL', 'JWT_SECRET'])
      expect(secret.stringData).toHaveProperty(name);
    for (const deployment of deployments)
      expect(containerOf(deployment).envFrom).toEqual([
        { configMapRef: { name: 'catalog' } },
        { secretRef: { name: secret.metadata.name } },
      ]);
  });

  test('start the parts as the image does', () => {
    const [, single] = /^CMD (\[.*\])$/m.exec(dockerfile)!;
    for (const deployment of deployments) {
      const part = deployment.metadata.labels['app.kubernetes.io/component'];
      expect(containerOf(deployment).command).toEqual([...JSON.parse(single!), part]);
      expect(containerOf(deployment).image).toBe(kustomization.images[0].name);
    }
    expect(kustomization.images[0].newTag).toBe(JSON.parse(read('package.json')).version);
  });

  test('probe paths that exist, on the port of the service', () => {
    const paths = operations.map(({ path }) => path);
    for (const deployment of deployments) {
      const { livenessProbe, readinessProbe, startupProbe, ports } = containerOf(deployment);
      expect(paths).toEqual(expect.arrayContaining(['/health/live', '/health/ready']));
      expect(livenessProbe.httpGet.path).toBe('/health/live');
      expect(startupProbe.httpGet.path).toBe('/health/live');
      expect(readinessProbe.httpGet.path).toBe('/health/ready');
      for (const { httpGet } of [livenessProbe, readinessProbe, startupProbe])
        expect(ports).toEqual([{ name: httpGet.port, containerPort: Number(image_environment.PORT) }]);
    }
  });

  test('select their own pods', () => {
    for (const deployment of deployments) {
      const { name } = deployment.metadata;
      expect([name, selects(deployment.spec.selector.matchLabels, deployment)]).toEqual([name, true]);
      const [spread] = podOf(deployment).topologySpreadConstraints;
      expect(selects(spread.labelSelector.matchLabels, deployment)).toBe(true);
      const chosen = (selector: Record<string, string>) =>
        deployments.filter((one) => selects(selector, one)).map(({ metadata }) => metadata.name);
      expect(chosen(named('PodDisruptionBudget', name).spec.selector.matchLabels)).toEqual([name]);
      const service = named('Service', name);
      if (service) expect(chosen(service.spec.selector)).toEqual([name]);
    }
    for (const { spec } of ofKind('NetworkPolicy'))
      expect(deployments.some((one) => selects(spec.podSelector.matchLabels, one))).toBe(true);
    for (const { spec } of ofKind('HorizontalPodAutoscaler')) {
      const { replicas } = named('Deployment', spec.scaleTargetRef.name).spec;
      expect([replicas, spec.minReplicas]).toEqual([undefined, 2]);
    }
  });

  test('give a pod longer to stop than a stop may take', () => {
    for (const deployment of deployments) {
      const { terminationGracePeriodSeconds } = podOf(deployment);
      const [, pause_s = '0'] = containerOf(deployment).lifecycle?.preStop.exec.command ?? [];
      expect(terminationGracePeriodSeconds).toBeGreaterThan(STOP_S + Number(pause_s));
    }
  });

  /** Chooses a rule as the Gateway API says: the longest path first, then the method. Returns its Service. */
  function routed(method: string, path: string): string | undefined {
    const [{ spec }] = ofKind('HTTPRoute');
    const matches = spec.rules.flatMap(({ matches, backendRefs }: Manifest) =>
      matches.map((match: Manifest) => ({ ...match, backend: backendRefs[0] })),
    ) as Manifest[];
    const fits = ({ path: { type, value }, method: wanted }: Manifest): boolean =>
      (path === value || (type === 'PathPrefix' && path.startsWith(`${value}/`))) &&
      (wanted === undefined || wanted === method);
    const rank = (match: Manifest): number => match.path.value.length * 2 + (match.method ? 1 : 0);
    const [first] = matches.filter(fits).sort((one, other) => rank(other) - rank(one));
    if (first) {
      const { ports } = named('Service', first.backend.name).spec;
      expect(ports.map(({ port }: { port: number }) => port)).toContain(first.backend.port);
    }
    return first?.backend.name;
  }

  test('send each operation to the process that serves it', () => {
    const at = (path: string) => path.replace(':id', '01890000-0000-7000-8000-000000000000');
    for (const { path, method } of Object.values(reads))
      for (const one of [method, 'HEAD', 'OPTIONS'])
        expect([one, path, routed(one, at(path))]).toEqual([one, path, 'catalog-query']);
    for (const { path, method } of [...Object.values(writes), ...Object.values(tokens)])
      expect([method, path, routed(method, at(path))]).toEqual([method, path, 'catalog-command']);
    for (const method of ['GET', 'POST', 'DELETE'])
      expect([method, routed(method, '/mcp')]).toEqual([method, 'catalog-command']);
    for (const path of ['/', '/openapi.json', '/docs', '/docs/page.css', '/media/live/x'])
      expect([path, routed('GET', path)]).toEqual([path, 'catalog-query']);
    for (const path of ['/metrics', '/health/ready', '/authors'])
      expect([path, routed('GET', path)]).toEqual([path, undefined]);
  });

  test('lead an Ingress to the gateway, and the gateway to the processes', () => {
    const [ingress, service, gateway] = manifestsOf(read(`${KUBERNETES}/ingress.yaml`));
    const [{ http }] = ingress.spec.rules;
    expect(http.paths).toEqual([
      expect.objectContaining({
        path: '/',
        backend: { service: { name: service.metadata.name, port: { name: service.spec.ports[0].name } } },
      }),
    ]);
    expect([
      selects(service.spec.selector, gateway),
      selects(gateway.spec.selector.matchLabels, gateway),
    ]).toEqual([true, true]);
    const nginx = read('docs/gateway/nginx.conf');
    const listens = Number(/^ *listen (\d+);$/m.exec(nginx)![1]);
    const container = containerOf(gateway);
    expect(container.ports).toEqual([{ name: service.spec.ports[0].targetPort, containerPort: listens }]);
    const { image } = parse(read('docker-compose.yml'), { merge: true }).services.gateway;
    expect(image).toBe(`\${NGINX_IMAGE:-${container.image}}`);
    const servers = [...gatewayOfKubernetes().matchAll(/^ *server ([\w-]+):(\d+) (.*);$/gm)];
    expect(servers).toHaveLength(4);
    for (const [, name, port, options] of servers) {
      expect(named('Service', name!).spec.ports).toEqual([expect.objectContaining({ port: Number(port) })]);
      // Failures of one pod are no reason to avoid the Service.
      expect(options).toBe('max_fails=0');
    }
  });

  describeWithProgram('kubectl', 'kubectl', () => {
    test('renders all manifests with the image of the registry', () => {
      const rendered = manifestsOf(run('kubectl', ['kustomize', KUBERNETES]));
      expect(rendered).toHaveLength(manifests.length);
      const [{ newName, newTag }] = kustomization.images;
      for (const one of rendered.filter(({ kind }) => kind === 'Deployment'))
        expect(containerOf(one).image).toBe(`${newName}:${newTag}`);
    });

    test('knows every field of the Deployments', async () => {
      await withTempDir(async (folder) => {
        for (const deployment of deployments) {
          const file = join(folder, 'deployment.json');
          writeFileSync(file, JSON.stringify(deployment));
          // Prints what it has understood, without fields that it does not know. It needs no cluster.
          const options = ['set', 'env', '--local', '-f', file, 'LOG_LEVEL=debug', '-o', 'json'];
          expect(JSON.parse(run('kubectl', options))).toMatchObject(deployment);
        }
      });
    });
  });
});

// --- Docker ---

describe('the compose file', () => {
  const compose = parse(read('docker-compose.yml'), { merge: true });
  const services = Object.entries<Manifest>(compose.services);
  const ownServices = services.filter(([, { image }]) => image === 'catalog-service');
  /** Replaces variables by their defaults. */
  const withDefaults = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');

  test('builds the image once and runs all processes from it', () => {
    expect(ownServices).toHaveLength(6);
    expect(services.filter(([, { build }]) => build !== undefined)).toHaveLength(1);
    const [[, { build }]] = ownServices.filter(([, { build }]) => build !== undefined) as [
      [string, Manifest],
    ];
    expect(build).toEqual({ context: '.', args: ['NODE_IMAGE'] });
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=/m);
  });

  test('tells the gateway the addresses of all processes that its configuration names', () => {
    const servers = [...read('docs/gateway/nginx.conf').matchAll(/^ *server ([\w-]+):8080/gm)];
    const names = [...new Set(servers.map(([, name]) => name!))].sort();
    expect(names).toEqual(['command-1', 'command-2', 'query-1', 'query-2']);
    const addressOf = (name: string): string => compose.services[name].networks.default.ipv4_address;
    expect(compose.services.gateway.extra_hosts).toEqual(names.map((name) => `${name}:${addressOf(name)}`));
    // Conditions would keep the gateway down while a process is.
    expect(Array.isArray(compose.services.gateway.depends_on)).toBe(true);
  });

  test('has settings that the service accepts, and passes on TRUST_PROXY', () => {
    const { environment, stop_grace_period } = compose['x-catalog'];
    const settings = Object.entries<string>(environment).map(([name, value]) => [name, withDefaults(value)]);
    expect(parseConfig(Object.fromEntries(settings))).toMatchObject({ TRUST_PROXY: '1' });
    expect(environment.TRUST_PROXY).toContain('${TRUST_PROXY:-');
    expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(STOP_S);
  });

  test('starts the parts as the image does', () => {
    const [, single] = /^CMD (\[.*\])$/m.exec(dockerfile)!;
    for (const [name, { command }] of ownServices) {
      const role = name.replace(/-\d$/, '');
      expect([name, command]).toEqual([name, [...JSON.parse(single!), role]]);
    }
  });

  test('checks the health of the gateway through a query process', () => {
    expect(compose.services.gateway.healthcheck.test.join(' ')).toContain('/health/live');
  });
});

/** The paths that the Dockerfile copies from the repository and not from another stage. */
const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
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
  const [, options] = /^exec node (\S+) dist/.exec(scripts.start!)!;
  expect(dockerfile).toContain(`NODE_OPTIONS=${options}`);
});

test('the product loads no development dependency at run time', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  expect(Object.keys(dependencies)).toEqual(
    expect.arrayContaining(['swagger-ui-dist', 'lru-cache', 'ipaddr.js']),
  );
  expect(Object.keys(devDependencies)).toEqual(expect.arrayContaining(['testcontainers', 'knip']));
});

test('docker-compose.yml uses the same images and variables as the tests', () => {
  const images = [...read('docker-compose.yml').matchAll(/^ {4}image: \$\{(\w+):-(\S+)\}$/gm)];
  expect(Object.fromEntries(images.map(([, variable, image]) => [variable, image]))).toMatchObject(
    DEFAULT_IMAGES,
  );
});

test('an environment variable replaces an image', () => {
  const before = process.env.REDIS_IMAGE;
  process.env.REDIS_IMAGE = 'registry.example/redis:7';
  try {
    expect(imageOf('REDIS_IMAGE')).toBe('registry.example/redis:7');
    process.env.REDIS_IMAGE = '';
    expect(imageOf('REDIS_IMAGE')).toBe(DEFAULT_IMAGES.REDIS_IMAGE);
  } finally {
    if (before === undefined) delete process.env.REDIS_IMAGE;
    else process.env.REDIS_IMAGE = before;
  }
});
