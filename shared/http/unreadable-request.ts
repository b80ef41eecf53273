import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { generateId } from '../kernel/ids';

/** What Node's parser refuses before there is a request: too long a header, bad framing, nothing for too long. */
const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * For a server's `clientError`: the structured error with an `X-Request-Id` (decisions §4), then the connection ends.
 * Without a request there is nobody to count it for, so no rate-limit headers.
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS_BY_CODE[error.code ?? ''] ?? 400;
  const message = 'The request cannot be read as HTTP';
  const code = status === 413 || status === 431 ? 'LIMIT_EXCEEDED' : 'INVALID_REQUEST';
  const plain = { code: status, status: 'error' };
  const body = JSON.stringify({ ...plain, ...(status === 400 && { message }), error: { code, message } });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${generateId(Date.now(), randomBytes)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
