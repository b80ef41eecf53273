import { MongoNetworkError } from 'mongodb';

/** The version that the patch below was written for and tested with. package.json pins it. */
const DRIVER_VERSION = '7.9.0';

/** Internal members of the driver's connection. */
interface DriverConnection {
  readonly error: Error | null;
  once(event: 'close', listener: () => void): void;
  off(event: 'close', listener: () => void): void;
  writeCommand(...parameters: unknown[]): Promise<void>;
}

let patched = false;

/**
 * Patches the driver for this process: a write ends when its connection closes.
 *
 * Since https://github.com/mongodb/node-mongodb-native/pull/4022 a write waits for the event `drain` or `error` of its
 * socket. A socket that was destroyed in the meantime emits neither, so the write never ends, and its connection never
 * returns to the pool. If it was a heartbeat of the server monitor, the monitor never sends another one, and the client
 * never notices that the server is back. This happens when all connections are cut at once, because each failing call
 * triggers a heartbeat at that moment. No option prevents it: `timeoutMS` and `signal` end calls, but not heartbeats.
 *
 * The patch rejects a write when its connection emits `close`. Throws if another version of the driver is installed.
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
      `mongodb ${version} is installed, but the patch in shared/adapters/mongodb/driver.ts needs ${DRIVER_VERSION}: run npm ci`,
    );
  Connection.prototype.writeCommand = async function writeUntilClosed(
    this: DriverConnection,
    ...parameters
  ): Promise<void> {
    let onClose = (): void => {};
    const closed = new Promise<never>((_, reject) => {
      onClose = () => reject(this.error ?? new MongoNetworkError('the connection was closed'));
    });
    this.once('close', onClose);
    try {
      await Promise.race([write.apply(this, parameters), closed]);
    } finally {
      this.off('close', onClose);
    }
  };
  patched = true;
}
