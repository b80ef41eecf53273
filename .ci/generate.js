const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { clientApiText } = require('../dist/shared/api/typescript');

// Writes the types of the client. Run by `npm run generate`, which compiles first.
writeFileSync(join(__dirname, '../shared/client/api.ts'), clientApiText());
