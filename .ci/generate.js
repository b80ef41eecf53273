const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { clientApiText } = require('../dist/shared/api/typescript');
const { withFeedTables } = require('./feed-tables');

// Writes the types of the client, and the tables of docs/feeds.md. Run by `npm run generate`, which compiles first.
writeFileSync(join(__dirname, '../shared/client/api.ts'), clientApiText());

const feeds = join(__dirname, '../docs/feeds.md');
writeFileSync(feeds, withFeedTables(readFileSync(feeds, 'utf8')));
