import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { within } from './wait-for';

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
  readonly body: any;
}

interface Sent {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** One connection of a client, which stays open between its requests. */
export class Connection {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(private readonly url: string) {}

  /** Rejects if the connection breaks. The next request then opens another one. */
  send(path: string, { method = 'GET', token, headers = {}, body }: Sent = {}): Promise<Reply> {
    const reply = new Promise<Reply>((resolve, reject) => {
      const sent = request(
        `${this.url}${path}`,
        {
          method,
          agent: this.agent,
          headers: {
            ...(token && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
        },
        async (response) => {
          let text = '';
          for await (const chunk of response.setEncoding('utf8')) text += chunk;
          const is_json = response.headers['content-type']?.includes('json');
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: is_json && text !== '' ? JSON.parse(text) : text,
          });
        },
      );
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
    return within(reply, `the response to ${method} ${path}`);
  }

  close(): void {
    this.agent.destroy();
  }
}
