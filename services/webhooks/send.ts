import { createHmac } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Webhook } from '../../shared/catalog/webhook/webhook';
import { type AddressRule, HostRefusedError, requestAllowed } from '../../shared/http/outgoing';

/** What is sent, as Standard Webhooks 1.0 says. */
export interface Message {
  /** The `webhook-id`: the same in every attempt. */
  readonly id: string;
  readonly type: string;
  readonly resource_id: string;
  /** When it happened. */
  readonly timestamp: string;
  readonly data: object;
}

export interface Response {
  /** Null if there was no response. */
  readonly status: number | null;
  /** Why the message was not delivered, null if it was. */
  readonly error: string | null;
  /** How long the receiver wants no further attempt. 0 if it does not say. */
  readonly retry_after_ms: number;
}

/** Time limit of an attempt, until the end of the response. */
const TIMEOUT_MS = 15_000;
/** A larger body contains ids alone. */
const BODY_BYTES_MAX = 20_000;
/** The connection of a response that is larger is closed. */
const RESPONSE_BYTES_MAX = 65_536;

/** Keep connections open between messages. */
const AGENTS = {
  'http:': new HttpAgent({ keepAlive: true }),
  'https:': new HttpsAgent({ keepAlive: true }),
} as const;

/** Sends a message once. Throws only if `signal` aborts. Redirects are not followed: they are failures. */
export async function send(
  { url, secrets }: Pick<Webhook, 'url' | 'secrets'>,
  message: Message,
  rule: AddressRule,
  now_ms: number,
  signal: AbortSignal,
): Promise<Response> {
  const body = bodyOf(message);
  const seconds = String(Math.floor(now_ms / 1_000));
  const signatures = secrets
    .filter(({ until }) => until === null || Date.parse(until) > now_ms)
    .map(({ value }) => signatureOf(value, `${message.id}.${seconds}.${body}`));
  const headers = {
    ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    ...{ 'user-agent': 'catalog-service', 'webhook-id': message.id, 'webhook-timestamp': seconds },
    'webhook-signature': signatures.join(' '),
  };
  const target = new URL(url);
  if (target.protocol === 'http:' && !rule.allow_private) return failure('the URL must begin with https://');
  const agent = AGENTS[target.protocol as keyof typeof AGENTS];
  // Not `AbortSignal.any`: `signal` would refer to every request until the process ends.
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const timer = setTimeout(end, TIMEOUT_MS);
  signal.addEventListener('abort', end);
  try {
    signal.throwIfAborted();
    const options = { method: 'POST', headers, agent, signal: ending.signal };
    const response = await requestAllowed(target, rule, options, body);
    const { statusCode: status = 0 } = response;
    await skipBody(response);
    const error = status >= 200 && status < 300 ? null : `status ${status}`;
    return { status, error, retry_after_ms: retryAfterOf(response.headers['retry-after'], now_ms) };
  } catch (error) {
    signal.throwIfAborted();
    if (ending.signal.aborted) return failure(`no response within ${TIMEOUT_MS / 1_000} s`);
    if (error instanceof HostRefusedError) return failure(error.message);
    return failure(`the receiver cannot be reached (${(error as NodeJS.ErrnoException).code})`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** Waits for the end of a response, whose body is not used, so that its connection is free. Never throws. */
async function skipBody(response: AsyncIterable<Uint8Array>): Promise<void> {
  let size_bytes = 0;
  try {
    for await (const chunk of response) {
      size_bytes += chunk.length;
      if (size_bytes > RESPONSE_BYTES_MAX) return;
    }
  } catch {
    // The status has arrived, which is all that counts.
  }
}

const failure = (error: string): Response => ({ status: null, error, retry_after_ms: 0 });

function bodyOf({ type, timestamp, data }: Message): string {
  const body = JSON.stringify({ type, timestamp, data });
  if (Buffer.byteLength(body) < BODY_BYTES_MAX) return body;
  return JSON.stringify({ type, timestamp, data: { ...data, changed: undefined } });
}

function signatureOf(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}

/** Parses `Retry-After` (RFC 9110 §10.2.3): seconds or a date. */
function retryAfterOf(text: string | undefined, now_ms: number): number {
  if (text === undefined) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now_ms;
  return Math.max(0, ms || 0);
}
