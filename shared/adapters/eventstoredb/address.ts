import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';
import { ConfigError } from '../../kernel/config';
import {
  AddressError,
  type EventStoreAddress,
  parseEventStoreAddress,
} from '../../kernel/eventstore-address';
import { Seeds } from './seeds';

/** A connection is dead if a ping is not answered within this time. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000;

type FileOption = 'tlsCAFile' | 'userCertFile' | 'userKeyFile';

/** Where the server is, and how clients connect to it. */
export class ServerAddress {
  private readonly address: EventStoreAddress;
  /** The contents of the files that the address names, as last read. */
  private readonly files = new Map<FileOption, Buffer>();

  /** Throws `ConfigError`, without the address, if it is malformed or if a file that it names cannot be used. */
  constructor(url: string) {
    try {
      this.address = parseEventStoreAddress(url);
    } catch (error) {
      if (error instanceof AddressError)
        throw new ConfigError(`Invalid EVENTSTORE_URL: expected ${error.message}.`);
      throw error;
    }
    for (const name of ['tlsCAFile', 'userCertFile', 'userKeyFile'] as const) this.read(name);
  }

  get has_user(): boolean {
    return this.address.user !== undefined;
  }

  /** Creates a client, with the seeds that it uses if it has any. Reads the files again, because certificates are renewed. */
  connect(generation: number): { readonly client: EventStoreDBClient; readonly seeds?: Seeds } {
    const { hosts, discover, user, tls, ...options } = this.address;
    const [host] = hosts as [EventStoreAddress['hosts'][number]];
    const { keepAliveInterval, keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS } = options;
    const { nodePreference, maxDiscoverAttempts, discoveryInterval, gossipTimeout } = options;
    const { connectionName, defaultDeadline } = options;
    const common = defined({
      connectionName,
      defaultDeadline,
      keepAliveTimeout,
      // -1 turns pings off.
      keepAliveInterval: keepAliveInterval < 0 ? keepAliveInterval : keepAliveInterval + generation,
    });
    const discovery = defined({ nodePreference, maxDiscoverAttempts, discoveryInterval, gossipTimeout });
    const credentials = defined({
      insecure: !tls,
      rootCertificate: this.read('tlsCAFile'),
      userCertFile: this.read('userCertFile'),
      userKeyFile: this.read('userKeyFile'),
    });
    // Several hosts, or a host with `discover`, are only asked for the members of the cluster.
    if (hosts.length === 1 && !discover)
      return { client: new EventStoreDBClient({ ...common, endpoint: host }, credentials, user) };
    const seeds = new Seeds(hosts);
    const settings = { ...common, ...discovery, endpoints: [...hosts], seeds };
    return { client: new EventStoreDBClient(settings, credentials, user), seeds };
  }

  /**
   * Reads the file that the option names. Returns undefined if the address has no such option. A file that was usable
   * once is used from memory while it is not usable: it may be about to be replaced.
   */
  private read(option: FileOption): Buffer | undefined {
    const file = this.address[option];
    if (file === undefined) return undefined;
    try {
      const content = readFileSync(file);
      if (option !== 'userKeyFile') new X509Certificate(content);
      this.files.set(option, content);
    } catch (error) {
      if (!this.files.has(option)) throw unusableFile(option, file, error);
    }
    return this.files.get(option);
  }
}

function unusableFile(option: FileOption, file: string, error: unknown): ConfigError {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const reason =
    code === 'ENOENT'
      ? 'does not exist'
      : syscall === undefined
        ? 'is not a certificate in PEM'
        : `cannot be read (${code})`;
  return new ConfigError(`Invalid EVENTSTORE_URL: ${option}: ${file} ${reason}.`);
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Returns the fields that have a value. The client would use `undefined` instead of its default. */
function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<Fields>;
}
