import { MongoNetworkError } from 'mongodb';

/** The version that the patch below was written for and tested with; package.json asks for no other. */
const DRIVER_VERSION = '7.9.0';

/** What the driver keeps to itself. */
interface DriverConnection {
  readonly error: Error | null;
  once(event: 'close', listener: () => void): void;
  off(event: 'close', listener: () => void): void;
  writeCommand(...given: unknown[]): Promise<void>;
}

let patched = false;

/**
 * Ends every write of the driver with its connection, in this whole process. Left to itself, a write waits for `drain`
 * or `error` of its socket (since https://github.com/mongodb/node-mongodb-native/pull/4022), and a socket that was
 * destroyed meanwhile emits neither: the connection never comes back to the pool. Where it was the monitor's look at
 * the server, no other look follows, and the client never learns that the server is back. All connections cut at once
 * do it, for a call that fails asks the monitor to look at that very moment. No option helps: `timeoutMS` and `signal`
 * end calls, but not the monitor's.
 *
 * Throws where the driver is not the one that this was written for.
 */
export function endWritesWithTheirConnections(): void {
  if (patched) return;
  const { version } = require('mongodb/package.json') as { version: string };
  const { Connection } = require('mongodb/lib/cmap/connection') as {
    Connection?: { CLOSE?: unknown; prototype: DriverConnection };
  };
  const write = Connection?.prototype.writeCommand;
  if (version !== DRIVER_VERSION || typeof write !== 'function' || Connection?.CLOSE !== 'close')
    throw new Error(
      `mongodb ${version} is installed, and the patch in shared/adapters/mongodb/driver.ts is for ${DRIVER_VERSION}: run npm ci`,
    );
  Connection.prototype.writeCommand = async function writeUntilClosed(
    this: DriverConnection,
    ...given
  ): Promise<void> {
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
  patched = true;
}
