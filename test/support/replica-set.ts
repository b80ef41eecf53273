import { BSON, type Document, MongoClient } from 'mongodb';
import { type ProxiedConnection, TcpProxy } from './tcp-proxy';

const SET_NAME = 'set';
const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_MSG = 2013;
/** Flags, cursor id, start and count of an OP_REPLY, which precede its first document. */
const REPLY_FIELDS_BYTES = 20;
/** Flags and the kind of the first section of an OP_MSG. */
const MSG_FIELDS_BYTES = 5;
/** The commands that a secondary answers. */
const READS = ['find', 'aggregate', 'count'];

type Role = 'primary' | 'secondary';

/**
 * A replica set of two members in front of one server: it rewrites what the members say about themselves. After
 * `stopReplication`, the secondary answers reads from a copy of the data at that time, as a secondary that lags.
 */
export class ReplicaSet {
  private readonly target: URL;
  private readonly members: Readonly<Record<Role, Member>>;
  private readonly addresses: Partial<Record<Role, string>> = {};
  /** Databases whose copy the secondary reads. */
  private readonly copied = new Set<string>();

  constructor(server: string) {
    this.target = new URL(server);
    const member = (role: Role): Member =>
      new Member(this.target, {
        toServer: (command) => this.toServer(role, command),
        toClient: (reply) => this.toClient(role, reply),
      });
    this.members = { primary: member('primary'), secondary: member('secondary') };
  }

  /** Returns the URL of the set. */
  async listen(database: string): Promise<string> {
    for (const role of ['primary', 'secondary'] as const)
      this.addresses[role] = `127.0.0.1:${await this.members[role].listen()}`;
    return `mongodb://${Object.values(this.addresses).join()}/${database}?replicaSet=${SET_NAME}`;
  }

  /** Number of reads that the secondary has answered from the copy. */
  stale_reads = 0;

  /** From now on, the secondary shows this database as it is now. */
  async stopReplication(database: string): Promise<void> {
    await this.withClient(async (client) => {
      for (const { name } of await client.db(database).listCollections().toArray()) {
        const documents = await client.db(database).collection(name).find().toArray();
        if (documents.length > 0) await client.db(copyOf(database)).collection(name).insertMany(documents);
      }
    });
    this.copied.add(database);
  }

  async close(): Promise<void> {
    for (const member of Object.values(this.members)) await member.close();
    await this.withClient(async (client) => {
      for (const database of this.copied)
        for (const collection of await client.db(copyOf(database)).collections()) {
          // The server for tests (.ci/servers) refuses to drop a collection that is not empty.
          await collection.deleteMany({});
          await collection.drop();
        }
    });
  }

  private async withClient(work: (client: MongoClient) => Promise<void>): Promise<void> {
    const client = new MongoClient(this.target.href, { useBigInt64: true });
    try {
      await work(client);
    } finally {
      await client.close();
    }
  }

  private toServer(role: Role, command: Document): Document | undefined {
    if (role === 'primary' || !READS.some((name) => name in command)) return undefined;
    const { $readPreference: _, ...rest } = command;
    if (!this.copied.has(command.$db)) return rest;
    this.stale_reads++;
    return { ...rest, $db: copyOf(command.$db) };
  }

  private toClient(role: Role, reply: Document): Document | undefined {
    if (!('ismaster' in reply)) return undefined;
    const { primary, secondary } = this.addresses;
    const is_primary = role === 'primary';
    const about_set = { setName: SET_NAME, setVersion: 1, hosts: [primary, secondary], primary };
    return { ...reply, ...about_set, me: this.addresses[role], ismaster: is_primary, secondary: !is_primary };
  }
}

const copyOf = (database: string): string => `${database}_copy`;

/** Return the document to send instead, or undefined to send the message unchanged. */
interface Rewriting {
  toServer(command: Document): Document | undefined;
  toClient(reply: Document): Document | undefined;
}

/** A TCP proxy that rewrites messages of the MongoDB wire protocol. */
class Member extends TcpProxy {
  private readonly rewriting: Rewriting;

  constructor({ hostname: host, port }: URL, rewriting: Rewriting) {
    super({ host, port: Number(port) });
    this.rewriting = rewriting;
  }

  protected override forward({ client, server }: ProxiedConnection): void {
    const { toServer, toClient } = this.rewriting;
    for (const [from, to, rewrite] of [
      [client, server, toServer],
      [server, client, toClient],
    ] as const) {
      let received = Buffer.alloc(0);
      from.on('data', (data) => {
        received = Buffer.concat([received, data]);
        while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
          const length = received.readInt32LE(0);
          to.write(rewritten(received.subarray(0, length), rewrite));
          received = received.subarray(length);
        }
      });
    }
  }
}

/** Returns the message with another document. Only messages with one document are rewritten. */
function rewritten(message: Buffer, rewrite: (document: Document) => Document | undefined): Buffer {
  const op_code = message.readInt32LE(12);
  const fields_bytes = { [OP_REPLY]: REPLY_FIELDS_BYTES, [OP_MSG]: MSG_FIELDS_BYTES }[op_code];
  if (fields_bytes === undefined) return message;
  const start = HEADER_BYTES + fields_bytes;
  const end = start + message.readInt32LE(start);
  if (end !== message.length) return message;
  // Without promotion, every number keeps its type.
  const types = { promoteValues: false, bsonRegExp: true };
  const document = rewrite(BSON.deserialize(message.subarray(start, end), types));
  if (!document) return message;
  const result = Buffer.concat([message.subarray(0, start), BSON.serialize(document)]);
  result.writeInt32LE(result.length, 0);
  return result;
}
