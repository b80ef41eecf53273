import { MongoClient } from 'mongodb';
import type { StartedTestContainer, WaitStrategy } from 'testcontainers';
import { freeOwnPort } from '../own-port';
import { waitFor } from '../wait-for';
import { imageOf, type ServerKind } from './images';
import type { OwnServer } from './own-server';

/*
 * Servers in containers, by testcontainers. Every container of one test run has the same label, by which
 * `remove-containers.ts` removes those that are left when the run ends. Ryuk, which would do the same, stays off: it is
 * an image of its own, and wants the engine's socket.
 */
process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';

/** The package is loaded by the files that start a container, and by no others. */
const testcontainers = (): typeof import('testcontainers') => require('testcontainers');

/** The label's name; its value is the run's id. */
const RUN_LABEL = 'catalog.test-run';
/** The environment variable with the run's id. */
export const RUN_ID = 'TEST_CONTAINERS_RUN';

interface Recipe {
  readonly image: string;
  readonly port: number;
  /** Default: the image's own. */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly wait?: () => WaitStrategy;
  readonly url: (address: string) => string;
  /** Called after each start, when the port is open. Resolves when the server takes writes. */
  readonly ready?: (url: string) => Promise<void>;
}

function recipeOf(kind: ServerKind): Recipe {
  switch (kind) {
    case 'redis':
      return {
        image: imageOf('REDIS_IMAGE'),
        port: 6379,
        command: [
          ...['redis-server', '--save', '', '--appendonly', 'yes'],
          ...['--maxmemory-policy', 'noeviction', '--protected-mode', 'no'],
        ],
        url: (address) => `redis://${address}`,
      };
    case 'mongo':
      return {
        image: imageOf('MONGODB_IMAGE'),
        port: 27017,
        command: ['mongod', '--replSet', 'rs0', '--bind_ip_all'],
        // The driver must not look for the set's members at the address they know each other by.
        url: (address) => `mongodb://${address}/?directConnection=true`,
        ready: untilWritable,
      };
    case 'eventstore':
      return {
        image: imageOf('EVENTSTORE_IMAGE'),
        port: 2113,
        environment: {
          EVENTSTORE_CLUSTER_SIZE: '1',
          EVENTSTORE_INSECURE: 'true',
          EVENTSTORE_RUN_PROJECTIONS: 'None',
          EVENTSTORE_START_STANDARD_PROJECTIONS: 'false',
          EVENTSTORE_TELEMETRY_OPTOUT: 'true',
        },
        wait: () => {
          const { Wait } = testcontainers();
          return Wait.forHttp('/health/live', 2113).forStatusCodeMatching((code) => code < 300);
        },
        url: (address) => `esdb://${address}?tls=false`,
      };
  }
}

/** Whether a Docker engine answers. */
export async function isDockerThere(): Promise<boolean> {
  try {
    await testcontainers().getContainerRuntimeClient();
    return true;
  } catch {
    return false;
  }
}

export interface Container {
  readonly url: string;
  readonly started: StartedTestContainer;
}

/**
 * Starts a server in a container and waits until it takes writes. `port` is its port on this machine; by default the
 * engine chooses one, which may change over a restart. Rejects if the image cannot be had.
 */
export async function startContainer(kind: ServerKind, port?: number): Promise<Container> {
  const recipe = recipeOf(kind);
  const { GenericContainer } = testcontainers();
  let container = new GenericContainer(recipe.image)
    .withExposedPorts(port === undefined ? recipe.port : { container: recipe.port, host: port })
    .withLabels({ [RUN_LABEL]: process.env[RUN_ID] ?? '' })
    .withEnvironment({ ...recipe.environment });
  if (recipe.command) container = container.withCommand([...recipe.command]);
  if (recipe.wait) container = container.withWaitStrategy(recipe.wait());
  const started = await container.start();
  const url = recipe.url(`${started.getHost()}:${started.getMappedPort(recipe.port)}`);
  await recipe.ready?.(url);
  return { url, started };
}

/** A server in a container of its own, at a fixed port of this machine. */
export class ContainerServer implements OwnServer {
  private constructor(
    private readonly kind: ServerKind,
    private readonly container: Container,
  ) {}

  static async start(kind: ServerKind): Promise<ContainerServer> {
    return new ContainerServer(kind, await startContainer(kind, await freeOwnPort()));
  }

  get url(): string {
    return this.container.url;
  }

  async start(): Promise<void> {
    await this.container.started.restart();
    await recipeOf(this.kind).ready?.(this.url);
  }

  async stop(): Promise<void> {
    await (await this.engineContainer()).stop();
  }

  async kill(): Promise<void> {
    await (await this.engineContainer()).kill();
  }

  async freeze(): Promise<void> {
    await (await this.engineContainer()).pause();
  }

  async thaw(): Promise<void> {
    await (await this.engineContainer()).unpause();
  }

  async dispose(): Promise<void> {
    await (await this.engineContainer()).remove({ force: true, v: true });
  }

  /** The container as the engine's client knows it: testcontainers itself can neither kill nor pause one. */
  private async engineContainer() {
    const { container } = await testcontainers().getContainerRuntimeClient();
    return container.getById(this.container.started.getId());
  }
}

/** Removes all containers of a run, running or not. Returns how many there were. */
export async function removeContainers(run_id: string): Promise<number> {
  const { container: engine } = await testcontainers().getContainerRuntimeClient();
  const filters = { label: [`${RUN_LABEL}=${run_id}`] };
  const found = await engine.dockerode.listContainers({ all: true, filters });
  for (const { Id } of found) await engine.getById(Id).remove({ force: true, v: true });
  return found.length;
}

/**
 * Waits until a MongoDB server takes writes. Initiates its replica set of one member if it has none yet; a server that
 * needs none takes writes at once.
 */
async function untilWritable(url: string): Promise<void> {
  const client = new MongoClient(url);
  const admin = client.db('admin');
  const members = [{ _id: 0, host: '127.0.0.1:27017' }];
  try {
    await waitFor(
      async () => {
        // The older name of `hello`, which every compatible server knows.
        const { ismaster, setName } = await admin.command({ isMaster: 1 });
        if (ismaster) return true;
        if (setName === undefined) await admin.command({ replSetInitiate: { _id: 'rs0', members } });
        return false;
      },
      { what: 'a MongoDB server that takes writes' },
    );
  } finally {
    await client.close();
  }
}
