import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completionsOf } from '../../services/cli/commands/completion';
import { serveSite } from '../../services/cli/commands/docs';
import { CliError } from '../../services/cli/invocation';
import { buildProgram } from '../../services/cli/program';
import { fetch } from '../support/fetch';
import { withTempDir } from '../support/temp-dir';
import { within } from '../support/wait-for';
import { expectFailure, InProcessCli } from './cli-run';

/** These commands open no store. */
const cli = new InProcessCli(join('no', 'such', 'folder'));

const OPTIONS = ['--account', '--type', '--store', '--name', '--permission', '--expires', '--limit'];

test.each<[typed: string, offered: readonly string[]]>([
  ['acc', ['account']],
  ['account ', ['create', 'list', 'suspend', 'reinstate', 'help']],
  ['key cr', ['create']],
  ['--json key cr', ['create']],
  ['key create --ty', ['--type']],
  ['key create --type ', ['public', 'secret']],
  ['key create --type s', ['secret']],
  [
    'key create --name account ',
    [...OPTIONS, '--price-list', '--needs-confirmation', '--json', '-h', '--help'],
  ],
  ['key create --account ', []],
  ['key li', ['list', 'limit']],
  ['key limit ID --d', ['--default']],
  ['store status ID a', ['active']],
  ['projections rebuild --realm ', ['control', 'live', 'test']],
  ['projections rebuild --p', []],
  ['import ca', []],
  ['completion z', ['zsh']],
])('completes "catalog %s"', (typed, offered) => {
  expect(completionsOf(buildProgram(), typed.split(' ')).sort()).toEqual([...offered].sort());
});

/** The commands that load the script `$1` and print what the shell offers for the line `$2`, by shell. */
const SHELLS: Readonly<Record<string, readonly string[]>> = {
  bash: [
    '-c',
    `source "$1"; COMP_WORDS=($2 ""); COMP_CWORD=4; _catalog; printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
  ],
  zsh: [
    '-fc',
    `compdef() { }; compadd() { shift; print -l -- "$@" }; source "$1"; words=(\${=2} ""); CURRENT=$#words; _catalog`,
    'zsh',
  ],
  fish: ['--no-config', '-c', 'source $argv[1]; complete -C "$argv[2] "'],
};

const installed = Object.keys(SHELLS).filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0);

test.each(installed)('%s offers what the command answers', async (shell) => {
  const { code, stdout } = await cli.run('completion', shell);
  expect(code).toBe(0);
  await withTempDir(async (folder) => {
    const main = join(__dirname, '..', '..', 'services', 'cli', 'main.js');
    writeFileSync(join(folder, 'catalog'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, {
      mode: 0o755,
    });
    writeFileSync(join(folder, 'script'), stdout);
    const run = spawnSync(shell, [...SHELLS[shell]!, join(folder, 'script'), 'catalog key create --type'], {
      encoding: 'utf8',
      cwd: folder,
      env: { ...process.env, HOME: folder, PATH: `${folder}:${process.env.PATH}` },
    });
    expect(run).toMatchObject({ stdout: 'public\nsecret\n', stderr: '' });
  });
});

test('completion refuses an unknown shell', async () => {
  expectFailure(await cli.run('completion', 'tcsh'), 2, /bash, zsh, fish/);
});

test('catalog -V prints what the package says, and npm and npx print nothing else before it', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const stdout = `${version}\n`;
  expect(await cli.run('-V')).toEqual({ code: 0, stdout, stderr: '' });
  const version_of = (program: string, ...args: string[]) =>
    spawnSync(program, [...args, '--version'], { encoding: 'utf8' }).stdout;
  expect(version_of('npm', 'run', '-s', 'catalog', '--')).toBe(stdout);
  expect(version_of('npx', '--no', '--', 'catalog')).toBe(stdout);
});

test('no page pipes JSON from a command that prints the lines of npm before it', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...['docs', 'docs/howto'].flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.md'))
        .map((name) => join(folder, name)),
    ),
  ];
  const wrong = pages.flatMap((page) =>
    readFileSync(page, 'utf8')
      .split('\n')
      .filter((line) => /npm run catalog\b.*--json/.test(line))
      .map((line) => `${page}: ${line}`),
  );
  expect(wrong).toEqual([]);
});

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
