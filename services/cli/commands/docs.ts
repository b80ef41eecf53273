import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import express from 'express';
import { parseConfig } from '../../../shared/kernel/config';
import { localUrl } from '../../../shared/kernel/server-url';
import { listen } from '../../boot/listen';
import { CliError, stopSignal, writeOut } from '../invocation';

/** Where `npm run docs` builds the site, seen from `dist/services/cli/commands`. */
const SITE = join(__dirname, '../../../../docs/site/dist');

export function docsCommand(program: Command): void {
  program
    .command('docs')
    .description('Serve the documentation as a web site, until Ctrl-C')
    .addOption(
      new Option('--port <port>', 'Port on the address HOST; 0: any free one')
        .default(8090)
        .argParser(portOf),
    )
    .action(({ port }: { port: number }) =>
      serveSite(SITE, parseConfig(process.env).HOST, port, stopSignal()),
    );
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('Expected a number from 0 to 65535.');
  return port;
}

/** Serves the built site until the signal aborts. Rejects if it has not been built. */
export async function serveSite(
  folder: string,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<void> {
  if (!existsSync(join(folder, 'index.html')))
    throw new CliError(
      'The documentation has not been built. Run "npm run docs" in the folder of the project.',
    );
  const app = express().disable('x-powered-by').use(express.static(folder));
  app.use((_request, response) => response.status(404).sendFile('404.html', { root: folder }));
  const site = await listen(app, host, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new CliError(`Port ${port} is in use. Choose another one with --port.`);
  });
  await writeOut(`The documentation is on ${localUrl(site.url)}. Ctrl-C ends it.\n`);
  if (!signal.aborted) await once(signal, 'abort');
  await site.close({ grace_ms: 0 });
}
