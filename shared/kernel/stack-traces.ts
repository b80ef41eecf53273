import * as modules from 'node:module';

/*
 * Makes stack traces show positions in the TypeScript sources. Every program imports this file first. Newer versions of
 * Node.js read the source maps of the service only; 20 and 22 also read the source maps of packages.
 */
const { setSourceMapsSupport } = modules as {
  setSourceMapsSupport?: (enabled: boolean, options: { readonly nodeModules: boolean }) => void;
};
if (setSourceMapsSupport) setSourceMapsSupport(true, { nodeModules: false });
else process.setSourceMapsEnabled(true);
