import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { endWritesWithTheirConnections } from '../../shared/adapters/mongodb/driver';
import { within } from '../support/wait-for';

endWritesWithTheirConnections();

interface Command {
  command(namespace: { db: string }, command: object, options: object): Promise<unknown>;
}

test('a call on a destroyed socket fails instead of waiting for `drain`', async () => {
  const server = createServer((socket) => socket.on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const { Connection } = require('mongodb/lib/cmap/connection') as {
    Connection: new (socket: unknown, options: object) => Command;
  };
  const connection = new Connection(socket, { id: 1, generation: 0, monitorCommands: false });
  socket.destroy();
  const hello = connection.command({ db: 'admin' }, { hello: 1 }, {});
  await expect(within(hello, 'the call to fail')).rejects.toMatchObject({ name: 'MongoNetworkError' });
  server.close();
});
