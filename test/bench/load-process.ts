import { connect, type Socket } from 'node:net';
import { median, quantile } from './statistics';

/** Requests to one server. Each is the complete text of an HTTP/1.1 request. */
export interface LoadPlan {
  readonly host: string;
  readonly port: number;
  readonly requests: readonly string[];
}

/** One round of a plan: for a time, or until a number of responses. */
export interface LoadRound {
  readonly plan: number;
  readonly concurrency: number;
  readonly duration_ms: number;
  readonly responses_max?: number;
}

export interface LoadResult {
  readonly responses: number;
  readonly elapsed_ms: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Number of responses with a status of 400 or more. */
  readonly failed: number;
  /** The first request that failed, if the generator knows it. */
  readonly first_failure?: string;
}

/** Sends requests as fast as a server answers them. */
export interface LoadGenerator {
  /** Takes the requests. Returns the number of the plan. */
  add(plan: LoadPlan): Promise<number>;
  /** Sends requests in turn, beginning where the last round of the plan ended. */
  run(round: LoadRound): Promise<LoadResult>;
  end(): void;
}

export type LoadMessage = { readonly add: LoadPlan } | { readonly run: LoadRound };

/**
 * The load generator of machines without `wrk`. A process of its own, so that it does not share the event loop with the
 * service or with the benchmark. It writes prepared requests to raw sockets, so that it is faster than any of the
 * servers. `Load` in `load-generator.ts` is its other side.
 */
class SocketGenerator {
  private readonly plans: LoadPlan[] = [];
  /** The next request of each plan. A round continues where the last one ended. */
  private readonly next: number[] = [];

  add(plan: LoadPlan): number {
    this.next.push(0);
    return this.plans.push(plan) - 1;
  }

  async run({
    plan,
    concurrency,
    duration_ms,
    responses_max = Number.POSITIVE_INFINITY,
  }: LoadRound): Promise<LoadResult> {
    const { host, port, requests } = this.plans[plan]!;
    const started_ms = performance.now();
    const end_ms = started_ms + duration_ms;
    const times: number[] = [];
    let [sent, failed] = [0, 0];
    let first_failure: string | undefined;
    const client = async (): Promise<void> => {
      const connection = await HttpConnection.open(host, port);
      while (performance.now() < end_ms && sent < responses_max) {
        sent++;
        const request = requests[this.next[plan]!++ % requests.length]!;
        const sent_ms = performance.now();
        const status = await connection.send(request);
        times.push(performance.now() - sent_ms);
        if (status < 400) continue;
        failed++;
        first_failure ??= `${request.split('\r\n')[0]} returned ${status}`;
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: concurrency }, client));
    const elapsed_ms = performance.now() - started_ms;
    const counts = { responses: times.length, elapsed_ms, failed, ...(first_failure && { first_failure }) };
    return { ...counts, p50_ms: median(times), p99_ms: quantile(times, 0.99) };
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** A kept-alive connection that has one request at a time. Reads only what it needs to find the end of a response. */
class HttpConnection {
  private readonly socket: Socket;
  private received: Buffer = Buffer.alloc(0);
  private settle: { resolve(status: number): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', (error) => this.settle?.reject(error));
    socket.on('close', () => this.settle?.reject(new Error('the server closed the connection')));
  }

  static open(host: string, port: number): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, host, () => resolve(new HttpConnection(socket)));
      socket.once('error', reject);
    });
  }

  /** Resolves with the status when the whole response has arrived. */
  send(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.socket.write(request);
    });
  }

  private receive(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const head_bytes = this.received.indexOf(HEAD_END);
    if (head_bytes < 0) return;
    const head = this.received.toString('latin1', 0, head_bytes);
    const status = Number(head.slice(9, 12));
    if (!this.isComplete(head, head_bytes + HEAD_END.length, status)) return;
    this.received = Buffer.alloc(0);
    const { settle } = this;
    this.settle = undefined;
    settle?.resolve(status);
  }

  private isComplete(head: string, body_start: number, status: number): boolean {
    if (status === 304 || status === 204) return true;
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (length !== undefined) return this.received.length >= body_start + Number(length);
    return this.received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  }

  close(): void {
    this.settle = undefined;
    this.socket.destroy();
  }
}

const generator = new SocketGenerator();
process.on('message', async (message: LoadMessage) => {
  try {
    process.send!({
      value: 'add' in message ? generator.add(message.add) : await generator.run(message.run),
    });
  } catch (error) {
    process.send!({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
