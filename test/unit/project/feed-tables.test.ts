import { readFileSync } from 'node:fs';
import { join } from 'node:path';

test('the tables of docs/feeds.md are what `npm run generate` writes', () => {
  const { withFeedTables } = require(join(process.cwd(), '.ci/feed-tables.js'));
  const page = readFileSync('docs/feeds.md', 'utf8');
  expect(page).toBe(withFeedTables(page));
  expect(page.match(/^\| `/gm)!.length).toBeGreaterThan(50);
});
