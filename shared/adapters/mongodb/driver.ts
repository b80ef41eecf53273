import { MongoNetworkError } from 'mongodb';

/** What the driver keeps to itself. */
interface Connection {
  readonly error: Error | null;
  once(event: 'close', listener: () => void): void;
  off(event: 'close', listener: () => void): void;
  writeCommand(...given: unknown[]): Promise<void>;
}

/**
 * Ends every write of the driver with its connection, in this whole process. Left to itself, a write waits for room in
 * the socket also where that was destroyed meanwhile, and then for ever: its connection never comes back to the pool, and
 * where it was the monitor's look at the server, no other look follows, so that the client never learns that the server
 * is back. All connections cut at once do it, for a call that fails asks the monitor to look at that very moment.
 */
export function endWritesWithTheirConnections(): void {
  const driver = require('mongodb/lib/cmap/connection') as { Connection: { prototype: Connection } };
  const { prototype } = driver.Connection;
  const write = prototype.writeCommand;
  prototype.writeCommand = async function writeUntilClosed(this: Connection, ...given): Promise<void> {
    let onClose = (): void => {};
    const closed = new Promise<never>((_, reject) => {
      onClose = () => reject(this.error ?? new MongoNetworkError('the connection was closed'));
    });
    this.once('close', onClose);
    try {
      await Promise.race([write.apply(this, given), closed]);
    } finally {
      this.off('close', onClose);
    }
  };
}
