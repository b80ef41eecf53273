import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { BSON } from 'mongodb';
import { listenOnOwnPort } from './own-port';

const HEADER_BYTES = 16;
const MESSAGE_BYTES_MAX = 48_000_000;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

type Reply = Record<string, unknown>;

/** What the server of a test is like. */
export interface FakeMongoPlan {
  /** Whether it is the primary. If not, it is a secondary of the replica set `rs0`. */
  is_primary?: boolean;
  /** The error with which it refuses logins. */
  refuses_logins?: Reply;
  /** The error with which it refuses all commands but `hello` and logins. */
  refuses_commands?: Reply;
}

/** The errors in the server's form. */
export const MONGO_ERRORS = {
  authentication_failed: {
    ok: 0,
    code: 18,
    codeName: 'AuthenticationFailed',
    errmsg: 'Authentication failed.',
  },
  unauthorized: {
    ok: 0,
    code: 13,
    codeName: 'Unauthorized',
    errmsg: 'not authorized on catalog to execute command',
  },
} as const;

/**
 * Answers the commands with which a MongoDB client connects, and refuses others. It stores nothing: it shows how a client
 * reacts to a server with users or without a primary, which the MongoDB-protocol server of the tests is not.
 */
export class FakeMongo {
  plan: FakeMongoPlan = { is_primary: true };
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  port = 0;

  constructor() {
    this.server = createServer((socket) => this.serve(socket));
  }

  async start(): Promise<void> {
    this.port = await listenOnOwnPort(this.server);
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      // Also closes a connection on which a client begins TLS, as the server does.
      if (received.length >= HEADER_BYTES && received.readInt32LE(0) > MESSAGE_BYTES_MAX) socket.destroy();
      while (received.length >= HEADER_BYTES && received.length >= received.readInt32LE(0)) {
        const length = received.readInt32LE(0);
        this.answer(socket, received.subarray(0, length));
        received = received.subarray(length);
      }
    });
  }

  private answer(socket: Socket, message: Buffer): void {
    const request_id = message.readInt32LE(4);
    if (message.readInt32LE(12) === OP_QUERY) {
      const reply = BSON.serialize(this.hello());
      const head = Buffer.alloc(20);
      head.writeInt32LE(1, 16);
      send(socket, request_id, OP_REPLY, [head, reply]);
      return;
    }
    const FLAGS_AND_KIND_BYTES = 5;
    const start = HEADER_BYTES + FLAGS_AND_KIND_BYTES;
    const command = BSON.deserialize(message.subarray(start, start + message.readInt32LE(start)));
    const reply = BSON.serialize(this.replyTo(Object.keys(command)[0] ?? ''));
    send(socket, request_id, OP_MSG, [Buffer.alloc(FLAGS_AND_KIND_BYTES), reply]);
  }

  private replyTo(command: string): Reply {
    if (/^(hello|ismaster)$/i.test(command)) return this.hello();
    if (command.startsWith('sasl')) return this.plan.refuses_logins ?? { ok: 1, done: true };
    return this.plan.refuses_commands ?? { ok: 1, cursor: { id: 0n, ns: 'x.y', firstBatch: [] } };
  }

  private hello(): Reply {
    const { is_primary = false } = this.plan;
    const me = `127.0.0.1:${this.port}`;
    const member = is_primary ? {} : { setName: 'rs0', secondary: true, hosts: [me], me };
    const limits = {
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
    };
    const wire = { minWireVersion: 0, maxWireVersion: 21, logicalSessionTimeoutMinutes: 30 };
    return {
      ok: 1,
      helloOk: true,
      isWritablePrimary: is_primary,
      ismaster: is_primary,
      ...member,
      ...limits,
      ...wire,
    };
  }
}

function send(socket: Socket, response_to: number, code: number, parts: readonly Uint8Array[]): void {
  const body = Buffer.concat(parts);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt32LE(HEADER_BYTES + body.length, 0);
  header.writeInt32LE(response_to, 8);
  header.writeInt32LE(code, 12);
  socket.write(Buffer.concat([header, body]));
}
