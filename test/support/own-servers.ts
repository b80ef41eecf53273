import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { REALMS } from '../../shared/catalog/realm';
import { aName } from './real-servers';
import type { ServerKind } from './servers/images';

export const SERVER_SETTINGS = ['EVENTSTORE_URL', 'REDIS_URL', 'MONGODB_URL'] as const;

/** The setting with the address of each kind of server. */
export const SERVER_VARIABLES = {
  redis: 'REDIS_URL',
  mongo: 'MONGODB_URL',
  eventstore: 'EVENTSTORE_URL',
} as const satisfies Record<ServerKind, (typeof SERVER_SETTINGS)[number]>;
export type ServerUrls = Partial<Record<(typeof SERVER_SETTINGS)[number], string>>;

/** Names that only one test uses, on servers that tests share. */
export interface OwnNames {
  /** For `parseConfig`, or for the environment of a process. */
  readonly settings: Readonly<Record<string, string>>;
  /** Deletes all Redis keys with the test's prefix, as if the server had been flushed. */
  flushRedis(): Promise<void>;
  /** Removes everything that was stored, except the log, which cannot be emptied. */
  dispose(): Promise<void>;
}

/** Returns the servers that the environment names. */
export function serversOfEnvironment(): ServerUrls {
  const named = SERVER_SETTINGS.filter((name) => process.env[name]);
  return Object.fromEntries(named.map((name) => [name, process.env[name]!]));
}

/** Returns the environment variable with the address of the container that this run started. */
export const containerVariable = (kind: ServerKind): string => `TEST_${SERVER_VARIABLES[kind]}`;

/**
 * Returns the servers for suites that need some: those that the environment names, and this run's containers for the
 * others. Suites that need none use `serversOfEnvironment`, so containers do not affect them.
 */
export function serversForTests(): ServerUrls {
  const urls: ServerUrls = {};
  for (const [kind, name] of Object.entries(SERVER_VARIABLES) as [ServerKind, keyof ServerUrls][]) {
    const url = process.env[name] || process.env[containerVariable(kind)];
    if (url) urls[name] = url;
  }
  return urls;
}

/**
 * Returns `process.env` without the servers and without the variables of OpenTelemetry, so that a process uses only
 * those that its test names.
 */
export function environmentWithoutServers(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(
    ([name]) => !SERVER_SETTINGS.some((server) => server === name) && !name.startsWith('OTEL_'),
  );
  return Object.fromEntries(others);
}

export function ownNames(urls: ServerUrls): OwnNames {
  const { EVENTSTORE_URL, REDIS_URL, MONGODB_URL } = urls;
  const name = aName();
  const settings: Record<string, string> = {
    ...(EVENTSTORE_URL && { EVENTSTORE_URL, EVENTSTORE_NAMESPACE: name }),
    ...(REDIS_URL && { REDIS_URL, REDIS_PREFIX: name }),
    ...(MONGODB_URL && { MONGODB_URL: withDatabase(MONGODB_URL, name) }),
  };
  const flushRedis = async (): Promise<void> => {
    if (REDIS_URL) await deleteKeys(REDIS_URL, `${name}:*`);
  };
  const dispose = async (): Promise<void> => {
    await flushRedis();
    if (MONGODB_URL) await dropDatabases(MONGODB_URL, name);
  };
  return { settings, flushRedis, dispose };
}

/**
 * Returns a `mongodb://hosts/database?options` URL with another database. Credentials are still checked in the
 * original one.
 */
export function withDatabase(url: string, database: string): string {
  const [, hosts, original = '', options = ''] = /^([^:]+:\/\/[^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url)!;
  const parameters = options.split('&').filter((option) => option !== '');
  const named = parameters.some((option) => option.startsWith('authSource='));
  if (hosts!.includes('@') && !named) parameters.push(`authSource=${original || 'admin'}`);
  return `${hosts}/${database}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
}

async function deleteKeys(url: string, pattern: string): Promise<void> {
  const redis = new Redis(url);
  try {
    const keys = await redis.keys(pattern);
    if (keys.length > 0) await redis.unlink(keys);
  } finally {
    redis.disconnect();
  }
}

async function dropDatabases(url: string, name: string): Promise<void> {
  const client = new MongoClient(url);
  try {
    for (const realm of REALMS) await client.db(`${name}_${realm}`).dropDatabase();
  } finally {
    await client.close();
  }
}
