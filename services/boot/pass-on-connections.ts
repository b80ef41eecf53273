import type { Worker } from 'node:cluster';

/** The message with which `node:cluster` hands a connection to a process, and the reply. */
interface Internal {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Passes the connections on that a process was handed, but did not accept before it died. `node:cluster` waits for its
 * reply for ever, so such a client would get no answer and no end of its connection. The reply `accepted: false` makes it
 * choose another process, as it does if a process refuses while it stops. If no other process listens,
 * `node:cluster` would keep the connection for ever. The reply is then `accepted: true`, so that `node:cluster` closes
 * its copy of the connection.
 */
export function passOnConnections({ process }: Worker, doesAnotherListen: () => boolean): void {
  const waiting = new Set<number>();
  const send = process.send.bind(process) as (message: Internal, ...rest: unknown[]) => boolean;
  const sendAndNote = (message: Internal, ...rest: unknown[]): boolean => {
    if (message.act === 'newconn' && message.seq !== undefined) waiting.add(message.seq);
    return send(message, ...rest);
  };
  process.send = sendAndNote as typeof process.send;
  process.on('internalMessage', ({ ack }: Internal) => {
    if (ack !== undefined) waiting.delete(ack);
  });
  const passOn = (): void => {
    const accepted = !doesAnotherListen();
    for (const ack of waiting)
      process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted }, undefined);
  };
  // From the later of both on, `node:cluster` no longer chooses the process.
  process.once('exit', () => {
    if (process.connected) process.once('disconnect', () => setImmediate(passOn));
    else setImmediate(passOn);
  });
}
