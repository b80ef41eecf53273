import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { requestAllowed } from '../../shared/http/outgoing';
import { CatalogError } from '../../shared/kernel/errors';
import type { ToolRequest } from './tools';

/** An answer of the service. */
export interface ServiceAnswer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Undefined if the answer is not JSON. */
  readonly body?: JsonObject;
  /** Whether the text ends before the answer does. */
  readonly is_cut: boolean;
}

/** The most bytes of a text that is not JSON, such as an export: some 60,000 tokens of a model. */
const TEXT_BYTES_MAX = 200_000;
/** The service begins each answer within 5 s, and the gateway in front of `/mcp` waits for 7 s. */
const ANSWER_MS_MAX = 6_500;

/** Sends a request to the service. Rejects with `unavailable` if there is no answer. */
export async function sendRequest(
  api_url: string,
  { method, path, body }: ToolRequest,
  headers: Readonly<Record<string, string>>,
): Promise<ServiceAnswer> {
  const form = body instanceof FormData ? new Response(body) : undefined;
  const content_type = form?.headers.get('content-type') ?? 'application/json';
  const options = {
    method,
    headers: { ...headers, ...(body && { 'Content-Type': content_type }) },
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  };
  const text = form ? await form.text() : body && JSON.stringify(body);
  try {
    const url = new URL(api_url.replace(/\/$/, '') + path);
    return await receive(await requestAllowed(url, { allow_private: true }, options, text));
  } catch (cause) {
    throw new CatalogError('unavailable', { message: 'The service does not answer', cause });
  }
}

async function receive(response: IncomingMessage): Promise<ServiceAnswer> {
  const { statusCode: status = 0, headers } = response;
  const is_json = headers['content-type']?.startsWith('application/json') === true;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (!is_json && size > TEXT_BYTES_MAX) break;
  }
  const text = Buffer.concat(chunks).toString();
  if (is_json) return { status, headers, text, body: JSON.parse(text) as JsonObject, is_cut: false };
  if (size <= TEXT_BYTES_MAX) return { status, headers, text, is_cut: false };
  // A first line that is longer is cut, too.
  const end = text.lastIndexOf('\n', TEXT_BYTES_MAX) + 1 || TEXT_BYTES_MAX;
  return { status, headers, text: text.slice(0, end), is_cut: true };
}
