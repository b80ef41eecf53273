import { parseArgs } from 'node:util';
import { EventStoreStandIn } from './standin';

/**
 * `node main.js --data DIR [--port 2113] [--host 127.0.0.1]`. Prints its URL when it listens. After a signal to stop, waits
 * for open calls for at most 5 s.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '2113' },
    },
  });
  if (values.data === undefined) throw new Error('--data: where the log is kept');
  const { data, host, port } = values;
  const standIn = await EventStoreStandIn.start({ folder: data, host, port: Number(port) });
  const stop = async (): Promise<void> => {
    await standIn.finishCalls();
    await standIn.stop();
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.stdout.write(`${standIn.url}\n`);
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
