import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** A connection with more waiting requests is cut. Browsers and gateways never have any, because they do not pipeline. */
const WAITING_MAX = 256;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  running: Exchange | undefined;
  readonly waiting: Exchange[];
}

/**
 * Handles the requests of each connection one at a time, in the order of their arrival.
 *
 * Node calls the listener for every pipelined request at once, and never emits `close` for a response that was still
 * queued when its client left. Such a response would keep its request and the body of the request in memory forever.
 * Therefore a request reaches the handler only when its response is the next one to be sent. When a connection closes,
 * its waiting requests are discarded. A connection with more than 256 waiting requests is cut.
 */
export class Connections {
  private readonly handler: RequestListener;
  private readonly unread_ms: number;
  private readonly open = new Map<Socket, Connection>();
  private closing = false;

  /** `unread_ms`: a connection is cut whose client takes nothing of an answer for this time. */
  constructor(handler: RequestListener, unread_ms: number) {
    this.handler = handler;
    this.unread_ms = unread_ms;
  }

  /** The request listener of the server. */
  readonly serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (socket.destroyed) return;
    const connection = this.open.get(socket) ?? this.add(socket);
    if (!connection.running) this.run(connection, { request, response });
    else if (connection.waiting.length < WAITING_MAX) connection.waiting.push({ request, response });
    else socket.destroy();
  };

  /** Starts the shutdown: each connection closes after the response to the last request that it has received. */
  close(): void {
    this.closing = true;
    for (const { running, waiting } of this.open.values())
      if (running && waiting.length === 0) running.response.shouldKeepAlive = false;
  }

  /**
   * Returns whether the bytes that Node could not parse came after a complete request that is still running. A response
   * to these bytes would then reach the client in place of the response to that request. Ends the connection after it.
   */
  endsAfterRunning(socket: Duplex): boolean {
    const running = this.open.get(socket as Socket)?.running;
    if (!running?.request.complete) return false;
    running.response.shouldKeepAlive = false;
    return true;
  }

  private add(socket: Socket): Connection {
    const connection: Connection = { running: undefined, waiting: [] };
    this.open.set(socket, connection);
    socket.once('close', () => {
      connection.waiting.length = 0;
      this.open.delete(socket);
    });
    return connection;
  }

  private run(connection: Connection, { request, response }: Exchange): void {
    // Adds `Connection: close`. Without it, a busy client could send requests on this connection forever.
    if (this.closing && connection.waiting.length === 0) response.shouldKeepAlive = false;
    connection.running = { request, response };
    this.limitSending(request.socket, response);
    response.once('close', () => {
      connection.running = undefined;
      const next = connection.waiting.shift();
      // After the last response of a connection, Node has closed its writable side: no later request gets a response.
      if (next && request.socket.writable) this.run(connection, next);
    });
    this.handler(request, response);
  }

  /** From the first byte of the answer on, Node destroys the connection if nothing moves on it. */
  private limitSending(socket: Socket, response: ServerResponse): void {
    const { writeHead } = response;
    socket.setTimeout(0);
    response.writeHead = ((...head: Parameters<typeof writeHead>) => {
      socket.setTimeout(this.unread_ms);
      return writeHead.apply(response, head);
    }) as typeof writeHead;
  }
}
