import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completionsOf } from '../../services/cli/commands/completion';
import { buildProgram } from '../../services/cli/program';
import { withTempDir } from '../support/temp-dir';
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
  ['key create --name account ', [...OPTIONS, '--json', '-h', '--help']],
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
    ...readdirSync('docs')
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  const wrong = pages.flatMap((page) =>
    readFileSync(page, 'utf8')
      .split('\n')
      .filter((line) => /npm run catalog\b.*--json/.test(line))
      .map((line) => `${page}: ${line}`),
  );
  expect(wrong).toEqual([]);
});
