import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { REALMS } from '../../shared/catalog/realm';
import { aName } from './real-servers';

export const SERVER_SETTINGS = ['EVENTSTORE_URL', 'REDIS_URL', 'MONGODB_URL'] as const;
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
function withDatabase(url: string, database: string): string {
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
