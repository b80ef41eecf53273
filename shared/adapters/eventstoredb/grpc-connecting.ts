import { isIP, type Socket } from 'node:net';
import { Http2SubchannelConnector } from '@grpc/grpc-js/build/src/transport';

/** Limit for connecting: TCP, TLS, and the first message of HTTP/2. Longer than an attempt of a call. */
const CONNECT_MS_MAX = 5_000;

type Connect = typeof Http2SubchannelConnector.prototype.connect;
type SecureConnector = Parameters<Connect>[1];

const connect = Http2SubchannelConnector.prototype.connect;

/**
 * Ends connections of grpc-js that a server accepts but does not answer. grpc-js keeps them, even after their channel is
 * closed: a silent server would get one more with each new client, and the process could not end.
 */
Http2SubchannelConnector.prototype.connect = async function (address, connector, options) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), CONNECT_MS_MAX).unref();
  // The address becomes the options of `net.connect`, which destroys the socket when the signal aborts.
  const bounded_address = { ...address, signal: limit.signal };
  try {
    return await connect.call(this, bounded_address, carefulConnector(connector), options);
  } finally {
    clearTimeout(timer);
  }
};

function carefulConnector(connector: SecureConnector): SecureConnector {
  const { connectionOptions } = connector as { connectionOptions?: { servername?: string } };
  // An IP address is not a server name (RFC 6066): Node prints a warning. The certificate is compared with `host` then.
  if (isIP(connectionOptions?.servername ?? '')) connectionOptions!.servername = '';
  return Object.assign(Object.create(connector) as SecureConnector, {
    connect: (socket: Socket) => connector.connect(socket.unref().on('error', () => {})),
  });
}
