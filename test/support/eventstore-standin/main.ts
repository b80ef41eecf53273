import { parseArgs } from 'node:util';
import { openControlPort } from './control-port';
import { EventStoreStandIn } from './standin';

/**
 * `node main.js --data DIR [--port 2113] [--host 127.0.0.1] [--control PORT]`. Prints its URL when it listens, and "IS
 * SHUTTING DOWN" after a signal to stop, when no call is open or it has waited for 5 s.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '2113' },
      control: { type: 'string' },
    },
  });
  if (values.data === undefined) throw new Error('--data: where the log is kept');
  const { host } = values;
  const standIn = await EventStoreStandIn.start({ folder: values.data, host, port: Number(values.port) });
  const control =
    values.control === undefined ? undefined : await openControlPort(standIn, host, Number(values.control));
  const stop = async (): Promise<void> => {
    control?.close();
    await standIn.finishCalls();
    process.stdout.write('IS SHUTTING DOWN\n');
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
