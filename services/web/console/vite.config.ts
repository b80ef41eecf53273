import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Where the service looks for the files (`services/web/console-files.ts`). */
const OUT = fileURLToPath(new URL('../../../dist/services/web/console', import.meta.url));

/** Texts of react-aria in languages that the console does not have. They are a fifth of the first script. */
const OTHER_LANGUAGES = /\/react-(aria|stately|aria-components)\/.*\/(?!en-|es-)[a-z]{2}-[A-Z]{2}\.m?js$/;

export default defineConfig({
  base: '/console/',
  plugins: [
    {
      name: 'languages',
      load: (id) => (OTHER_LANGUAGES.test(id) ? 'export default {};' : undefined),
    },
  ],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2022',
    // The Content-Security-Policy allows neither fonts nor style sheets as data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '^/(api|auth|media|operator|console/session)': 'http://127.0.0.1:8080' } },
});
