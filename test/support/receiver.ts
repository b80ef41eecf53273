import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Webhook as Verifier } from 'standardwebhooks';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The `webhook-id`. */
  readonly id: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: messages are looked into freely by tests
  readonly data: any;
}

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: AsyncIterable<Uint8Array>;
}

/** The server of a merchant who receives the messages of a webhook. */
export class Receiver {
  /** All attempts, also those that it has refused. */
  readonly received: Received[] = [];
  /** What it answers. */
  answer: (message: Received) => Reply | Promise<Reply> = () => ({ status: 204 });

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { type, data } = JSON.parse(body);
      const message = {
        headers: request.headers,
        body,
        id: String(request.headers['webhook-id']),
        type,
        data,
      };
      receiver.received.push(message);
      const { status, headers, body: sent = [] } = await receiver.answer(message);
      response.writeHead(status, headers);
      await pipeline(sent, response).catch(() => {});
    });
    const receiver = new Receiver(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/catalog`;
  }

  get types(): string[] {
    return this.received.map(({ type }) => type);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Returns whether the secret has signed the message, as the reference library of Standard Webhooks sees it. */
export function isSignedWith(secret: string, { body, headers }: Received): boolean {
  try {
    new Verifier(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
