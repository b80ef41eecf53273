import type { ServerResponse } from 'node:http';

/** A response as it was sent, without what belongs to its request alone. */
export interface CapturedAnswer {
  readonly status: number;
  /** Names and values, alternately. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** Headers that each request gets anew. */
const OF_REQUEST =
  /^(x-request-id|x-ratelimit-(limit|remaining|reset|tier)|date|connection|keep-alive|transfer-encoding)$/i;

/**
 * Calls `onSent` when the response has been written completely, unless its body is no JSON or has more than `bytes_max`
 * bytes. The response is sent as without this function.
 */
export function captureAnswer(
  response: ServerResponse,
  bytes_max: number,
  onSent: (answer: CapturedAnswer) => void,
): void {
  const { write, end } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  let is_json: boolean | undefined;
  const collect = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    is_json ??= String(response.getHeader('Content-Type')).startsWith('application/json');
    if (!is_json) return;
    const is_named = typeof encoding === 'string' && Buffer.isEncoding(encoding);
    // The app writes JSON as text, or as buffers that it does not change any more.
    const written =
      typeof chunk === 'string' ? Buffer.from(chunk, is_named ? encoding : 'utf8') : (chunk as Buffer);
    bytes += written.length;
    if (bytes <= bytes_max) chunks.push(written);
    else chunks.length = 0;
  };
  response.write = ((...args: Parameters<typeof write>) => {
    collect(args[0], args[1]);
    return write.apply(response, args);
  }) as typeof write;
  response.end = ((...args: Parameters<typeof end>) => {
    collect(args[0], args[1]);
    end.apply(response, args);
    if (is_json !== false && bytes <= bytes_max)
      onSent({ status: response.statusCode, headers: headersOf(response), body: joined(chunks, bytes) });
    return response;
  }) as typeof end;
}

function headersOf(response: ServerResponse): string[] {
  // Missing in the types of Node 20: names as they were set, not in lower case.
  const { getRawHeaderNames } = response as ServerResponse & { getRawHeaderNames(): string[] };
  return getRawHeaderNames
    .call(response)
    .filter((name) => !OF_REQUEST.test(name))
    .flatMap((name) => [name, String(response.getHeader(name))]);
}

/** Returns the chunks in memory of their own. Small buffers of Node share a block, which would stay with any of them. */
function joined(chunks: readonly Buffer[], bytes: number): Buffer {
  const body = Buffer.allocUnsafeSlow(bytes);
  let offset = 0;
  for (const chunk of chunks) offset += chunk.copy(body, offset);
  return body;
}
