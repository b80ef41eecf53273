import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTempDir } from '../support/temp-dir';
import { Cli, expectFailure } from './cli-run';

/** These commands open no store. */
const cli = new Cli(join('no', 'such', 'folder'));

async function script(shell: string): Promise<string> {
  const { code, stdout, stderr } = await cli.run('completion', shell);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

const has = (shell: string): boolean => run(shell, ['-c', 'true']).status === 0;

function run(shell: string, args: readonly string[], environment: Record<string, string> = {}) {
  return spawnSync(shell, args, { encoding: 'utf8', env: { ...process.env, ...environment } });
}

/** Returns what bash offers for the last of the words, which the user is typing. */
function offeredByBash(completion: string, words: readonly string[], folder: string): string[] {
  const file = join(folder, 'completion.bash');
  writeFileSync(file, completion);
  const program = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _catalog; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const result = spawnSync('bash', ['-c', program, 'bash', file, 'catalog', ...words], {
    encoding: 'utf8',
    cwd: folder,
  });
  expect(result.stderr).toBe('');
  return result.stdout.split('\n').filter((line) => line !== '');
}

const CASES: readonly [string, readonly string[]][] = [
  ['acc', ['account']],
  ['account ', ['create', 'list', 'suspend', 'reinstate', 'help']],
  ['key cr', ['create']],
  ['--json key cr', ['create']],
  ['key create --ty', ['--type']],
  ['key create --type ', ['public', 'secret']],
  ['key create --type s', ['secret']],
  [
    'key create --name account ',
    ['--account', '--type', '--store', '--name', '--permission', '--expires', '--limit'],
  ],
  ['key create --account ', []],
  ['key create --limit ', []],
  ['key li', ['list', 'limit']],
  ['key limit ID --d', ['--default']],
  ['key f', ['find']],
  ['store status ID a', ['active']],
  ['projections rebuild --realm ', ['control', 'live', 'test']],
  ['import ca', ['catalog.csv']],
  ['store create --profile ca', ['catalog.csv']],
  ['review ', ['import', 'help']],
  ['review import ca', ['catalog.csv']],
  ['completion z', ['zsh']],
];

test('bash completes commands, options, their values and files', async () => {
  const completion = await script('bash');
  await withTempDir(async (folder) => {
    writeFileSync(join(folder, 'catalog.csv'), '');
    for (const [typed, expected] of CASES) {
      const offered = offeredByBash(completion, typed.split(' '), folder);
      expect({ typed, offered }).toEqual({ typed, offered: expect.arrayContaining([...expected]) });
      if (expected.length < 3) expect({ typed, offered }).toEqual({ typed, offered: expected });
    }
    expect(offeredByBash(completion, ['projections', 'rebuild', '--'], folder)).not.toContain('--park');
  });
});

(has('fish') ? test : test.skip)('fish completes commands, options and their values', async () => {
  const completion = await script('fish');
  await withTempDir(async (folder) => {
    const file = join(folder, 'completion.fish');
    writeFileSync(file, completion);
    const offered = (typed: string): string[] => {
      const args = ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', file, `catalog ${typed}`];
      const result = run('fish', args, { HOME: folder });
      expect(result.stderr).toBe('');
      const lines = result.stdout.split('\n').filter((line) => line !== '');
      return lines.map((line) => line.split('\t')[0]!);
    };
    expect(offered('acc')).toEqual(['account']);
    expect(offered('key create --type ')).toEqual(['public', 'secret']);
    expect(offered('store status ID a')).toEqual(['active']);
    expect(offered('key create --ty')).toEqual(['--type']);
  });
});

(has('zsh') ? test : test.skip)('zsh accepts the script and completes like bash', async () => {
  const completion = await script('zsh');
  const program = `compdef() { }; compadd() { shift; print -l -- "$@" }; source "$1"; shift; words=("$@"); CURRENT=$#; _catalog`;
  await withTempDir(async (folder) => {
    const file = join(folder, 'completion.zsh');
    writeFileSync(file, completion);
    const offered = (...typed: string[]): string[] => {
      const result = run('zsh', ['-f', '-c', program, 'zsh', file, 'catalog', ...typed]);
      expect(result.stderr).toBe('');
      return result.stdout.split('\n').filter((line) => line !== '');
    };
    expect(offered('')).toContain('account');
    expect(offered('key', 'create', '--type', '')).toEqual(['public', 'secret']);
    expect(offered('store', 'status', 'ID', '')).toEqual(['active', 'inactive', 'suspended']);
  });
});

test('completion refuses an unknown shell', async () => {
  expectFailure(await cli.run('completion', 'tcsh'), 2, /bash, zsh, fish/);
});

test('catalog --version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  for (const flag of ['--version', '-V'])
    expect(await cli.run(flag)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test.each([
  ['npm', ['run', '-s', 'catalog', '--']],
  ['npx', ['--no', 'catalog']],
])('%s %j prints nothing but the JSON document', (program, args) => {
  const { stdout } = spawnSync(program, [...args, 'config', '--json'], { encoding: 'utf8' });
  expect(JSON.parse(stdout)).toMatchObject({ JWT_ISSUER: 'catalog-service' });
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
