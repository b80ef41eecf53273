import { readFileSync } from 'node:fs';

const SOURCE_MAP = /^\/[/*]# sourceMappingURL=.*$/m;

/** Reads a script or style sheet for browsers, without the comment that names its source map: source maps are not served. */
export const readAsset = (path: string): string => readFileSync(path, 'utf8').replace(SOURCE_MAP, '');
