import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveSite } from '../../services/cli/commands/docs';
import { CliError } from '../../services/cli/invocation';
import { fetch } from '../support/fetch';
import { withTempDir } from '../support/temp-dir';
import { within } from '../support/wait-for';
import { expectFailure, InProcessCli } from './cli-run';

const HOST = '127.0.0.1';

/** Serves the folder while `use` runs. */
async function serving(folder: string, use: (url: string) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const printed = new Promise<string>((resolve) => {
    jest.spyOn(process.stdout, 'write').mockImplementation((text: unknown, ...rest: unknown[]) => {
      (rest.at(-1) as () => void)();
      resolve(String(text));
      return true;
    });
  });
  const ended = serveSite(folder, HOST, 0, stop.signal);
  try {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(await within(printed, 'the address to be printed'))!;
    await use(url);
  } finally {
    jest.restoreAllMocks();
    stop.abort();
    await within(ended, 'the site to stop');
  }
}

test('catalog docs serves the built site, and its own page for what does not exist', () =>
  withTempDir(async (folder) => {
    mkdirSync(join(folder, 'api'));
    for (const [name, text] of [
      ['index.html', 'home'],
      ['api/index.html', 'api'],
      ['404.html', 'no such page'],
    ])
      writeFileSync(join(folder, name!), text!);
    await serving(folder, async (url) => {
      const textOf = async (path: string) => {
        const reply = await fetch(`${url}${path}`);
        return [reply.status, await reply.text()];
      };
      expect(await textOf('/')).toEqual([200, 'home']);
      expect(await textOf('/api/')).toEqual([200, 'api']);
      expect(await textOf('/none.html')).toEqual([404, 'no such page']);
      expect(await textOf('/..%2f..%2fetc%2fpasswd')).toEqual([404, 'no such page']);
      const [, port] = /:(\d+)$/.exec(url)!;
      const refusal = serveSite(folder, HOST, Number(port), new AbortController().signal);
      await expect(refusal).rejects.toThrow(`Port ${port} is in use. Choose another one with --port.`);
    });
  }));

test('catalog docs fails if the site has not been built, and says how to build it', () =>
  withTempDir(async (folder) => {
    const refusal = serveSite(folder, HOST, 0, new AbortController().signal);
    await expect(refusal).rejects.toThrow('Run "npm run docs"');
    await expect(refusal).rejects.toMatchObject({ exit_code: 1 });
    await expect(refusal).rejects.toBeInstanceOf(CliError);
  }));

test('catalog docs refuses a port that is no number', async () => {
  const cli = new InProcessCli('unused');
  expectFailure(await cli.run('docs', '--port', '80a'), 2, /Expected a number from 0 to 65535\./);
});
