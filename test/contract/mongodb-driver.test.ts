import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { endWritesWithTheirConnections } from '../../shared/adapters/mongodb/driver';

endWritesWithTheirConnections();

interface Command {
  command(namespace: { db: string }, command: object, options: object): Promise<unknown>;
}

test('a call over a socket that was destroyed a moment ago fails, instead of waiting for room in it', async () => {
  const server = createServer((socket) => socket.on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const { Connection } = require('mongodb/lib/cmap/connection') as {
    Connection: new (given: unknown, options: object) => Command;
  };
  const connection = new Connection(socket, { id: 1, generation: 0, monitorCommands: false });
  socket.destroy();
  const hello = connection.command({ db: 'admin' }, { hello: 1 }, {});
  await expect(hello).rejects.toMatchObject({ name: 'MongoNetworkError' });
  server.close();
});
