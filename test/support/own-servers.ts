import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { REALMS } from '../../shared/catalog/realm';
import { aName } from './real-servers';
import type { ServerKind } from './servers/images';

export const SERVER_SETTINGS = ['EVENTSTORE_URL', 'REDIS_URL', 'MONGODB_URL'] as const;

/** Which setting names the address of which kind of server. */
export const SERVER_VARIABLES = {
  redis: 'REDIS_URL',
  mongo: 'MONGODB_URL',
  eventstore: 'EVENTSTORE_URL',
} as const satisfies Record<ServerKind, (typeof SERVER_SETTINGS)[number]>;
export type ServerUrls = Partial<Record<(typeof SERVER_SETTINGS)[number], string>>;

/** Names of a test's own on servers that it shares with others. */
export interface OwnNames {
  /** For `parseConfig`, or a process' environment. */
  readonly settings: Readonly<Record<string, string>>;
  /** Empties what Redis holds under the own name, as a flush of a server of one's own would. */
  flushRedis(): Promise<void>;
  /** Removes what was stored; a log cannot be emptied. */
  dispose(): Promise<void>;
}

/** The servers that the environment names; none where it names none. */
export function serversOfEnvironment(): ServerUrls {
  const named = SERVER_SETTINGS.filter((name) => process.env[name]);
  return Object.fromEntries(named.map((name) => [name, process.env[name]!]));
}

/** The environment variable with the address of the container that this run started for a kind of server. */
export const containerVariable = (kind: ServerKind): string => `TEST_${SERVER_VARIABLES[kind]}`;

/**
 * The servers of suites that need some: those that the environment names, and containers of this run for the others.
 * Suites that need none use `serversOfEnvironment`, so a container changes nothing for them.
 */
export function serversForTests(): ServerUrls {
  const urls: ServerUrls = {};
  for (const [kind, name] of Object.entries(SERVER_VARIABLES) as [ServerKind, keyof ServerUrls][]) {
    const url = process.env[name] || process.env[containerVariable(kind)];
    if (url) urls[name] = url;
  }
  return urls;
}

/** `process.env` without the servers: a process is started on those that its test gives it, and no others. */
export function environmentWithoutServers(): NodeJS.ProcessEnv {
  const environment = { ...process.env };
  for (const name of SERVER_SETTINGS) delete environment[name];
  return environment;
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

/** `mongodb://hosts/database?options` with another database; who may log in stands where it stood. */
export function withDatabase(url: string, database: string): string {
  const [, hosts, before = '', options = ''] = /^([^:]+:\/\/[^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url)!;
  const given = options.split('&').filter((option) => option !== '');
  const named = given.some((option) => option.startsWith('authSource='));
  if (hosts!.includes('@') && !named) given.push(`authSource=${before || 'admin'}`);
  return `${hosts}/${database}${given.length > 0 ? `?${given.join('&')}` : ''}`;
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
