import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTempDir } from '../../support/temp-dir';

interface Line {
  readonly began_ms: number;
  readonly file: string;
  readonly suites: readonly string[];
  readonly test: string;
  readonly status: string;
}

const aLine = (changes: Partial<Line>): Line => ({
  began_ms: 1,
  file: 'blob-store',
  suites: ['blob store on files'],
  test: 'a fact',
  status: 'passed',
  ...changes,
});

/** Returns the table's lines with single spaces. */
async function tableOf(lines: readonly Line[], ...flags: string[]): Promise<string[]> {
  return withTempDir(async (folder) => {
    const file = join(folder, 'results.jsonl');
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const printed = execFileSync(process.execPath, ['.ci/contract-table.js', file, ...flags], {
      encoding: 'utf8',
    });
    return printed.split('\n').map((line) => line.trim().replace(/ +/g, ' '));
  });
}

test('counts passed, failed and own tests, and lists the skipped ones', async () => {
  const printed = await tableOf([
    aLine({}),
    aLine({ test: 'another', suites: ['blob store on files', 'in a block'] }),
    aLine({ test: 'a third', status: 'failed' }),
    aLine({ suites: ['blob store on files: what is its own'] }),
    aLine({ file: 'bullmq-media-tasks', suites: ['on a server (skipped: no REDIS_URL)'], status: 'pending' }),
  ]);
  expect(printed).toContain('blob store files 2 1 1 0');
  expect(printed).toContain('media tasks BullMQ 0 0 0 1');
  expect(printed).toContain(
    'skipped: media tasks on BullMQ: bullmq-media-tasks: on a server (skipped: no REDIS_URL) › a fact',
  );
  expect(printed).toContain('rate limiter Redis not run');
});

test('if a file ran twice, the later run counts', async () => {
  const skipped = { file: 'bullmq-media-tasks', suites: ['on a server (skipped)'], status: 'pending' };
  const ran = { file: 'bullmq-media-tasks', suites: ['on a server', 'media tasks on BullMQ'], began_ms: 2 };
  const printed = await tableOf([aLine(ran), aLine({ ...ran, test: 'another' }), aLine(skipped)]);
  expect(printed).toContain('media tasks BullMQ 2 0 0 0');
  expect(printed.filter((line) => line.startsWith('skipped:'))).toEqual([]);
});

test('names the stand-in', async () => {
  const line = aLine({ file: 'eventstoredb', suites: ['event store on EventStoreDB'] });
  expect(await tableOf([line], '--stand-in')).toContain('event store EventStoreDB (stand-in) 1 0 0 0');
  expect(await tableOf([line])).toContain('event store EventStoreDB 1 0 0 0');
});

test('every contract suite has a place in the table', async () => {
  const contracts = readdirSync('test/contract').filter((name) => name.endsWith('.contract.ts'));
  const suites = contracts.flatMap((name) => {
    const text = readFileSync(join('test/contract', name), 'utf8');
    return [...text.matchAll(/^ {2}describe\(`(.+) on \$\{name\}`/gm)].map(([, suite]) => suite!);
  });
  expect(suites.length).toBeGreaterThanOrEqual(contracts.length);
  const printed = await tableOf(suites.map((suite) => aLine({ suites: [`${suite} on Nowhere`] })));
  const counted = printed
    .filter((line) => line.includes(' Nowhere '))
    .map((line) => Number(line.split(' ').at(-4)));
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(suites.length);
});
