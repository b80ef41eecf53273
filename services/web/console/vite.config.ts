import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Where the service looks for the files (`services/web/console-files.ts`). */
const OUT = fileURLToPath(new URL('../../../dist/services/web/console', import.meta.url));

export default defineConfig({
  base: '/console/',
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
