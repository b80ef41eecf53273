import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file beyond this holds a second concept that wants a file of its own. */
const LINES_MAX = 300;

test('no source file has grown beyond what can be read at once', () => {
  const long = ['services', 'shared', 'projections']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(folder, name)),
    )
    .map((file) => ({ file, lines: readFileSync(file, 'utf8').split('\n').length }))
    .filter(({ lines }) => lines > LINES_MAX);
  expect(long).toEqual([]);
});
