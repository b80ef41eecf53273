import { MongoClient } from 'mongodb';
import type { StartedTestContainer, WaitStrategy } from 'testcontainers';
import { freeOwnPort } from '../own-port';
import { waitFor } from '../wait-for';
import { imageOf, type ServerKind } from './images';
import type { OwnServer } from './own-server';

/*
 * Servers in containers, started with testcontainers. All containers of one test run have the same label, by which
 * `remove-containers.ts` removes them when the run ends. Ryuk, which does the same, is disabled because it needs
 * another image and the engine's socket.
 */
process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';

/** Loads the package on demand, because most test files start no container. */
const testcontainers = (): typeof import('testcontainers') => require('testcontainers');

/** Name of the label. Its value is the run's id. */
const RUN_LABEL = 'catalog.test-run';
/** Environment variable with the run's id. */
export const RUN_ID = 'TEST_CONTAINERS_RUN';

interface Recipe {
  readonly image: string;
  readonly port: number;
  /** Default: the command of the image. */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly wait?: () => WaitStrategy;
  readonly url: (address: string) => string;
  /** Called after each start, when the port is open. Resolves when the server accepts writes. */
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
        // The driver must not connect to the address that the replica set has for its members.
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

/** Returns whether a Docker engine is available. */
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
 * Starts a server in a container and waits until it accepts writes. `port` is its port on this machine. By default
 * the engine chooses one, which may change after a restart. Rejects if the image is not available.
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

/** A server in its own container, at a fixed port of this machine. */
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

  /** Returns the engine's own handle of the container, because testcontainers can neither kill nor pause one. */
  private async engineContainer() {
    const { container } = await testcontainers().getContainerRuntimeClient();
    return container.getById(this.container.started.getId());
  }
}

/** Removes all containers of a run, also stopped ones. Returns how many there were. */
export async function removeContainers(run_id: string): Promise<number> {
  const { container: engine } = await testcontainers().getContainerRuntimeClient();
  const filters = { label: [`${RUN_LABEL}=${run_id}`] };
  const found = await engine.dockerode.listContainers({ all: true, filters });
  for (const { Id } of found) await engine.getById(Id).remove({ force: true, v: true });
  return found.length;
}

/**
 * Waits until a MongoDB server accepts writes. Initiates a replica set of one member if there is none; a server that
 * needs none accepts writes at once.
 */
async function untilWritable(url: string): Promise<void> {
  const client = new MongoClient(url);
  const admin = client.db('admin');
  const members = [{ _id: 0, host: '127.0.0.1:27017' }];
  try {
    await waitFor(
      async () => {
        // The older name of `hello`, which all compatible servers support.
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
