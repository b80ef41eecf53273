import '../../shared/kernel/stack-traces';
import * as modules from 'node:module';
import { join } from 'node:path';

/*
 * Imported before the other modules of every program. Has Node.js 22.1 and newer keep compiled modules, so that the next
 * start takes less time. The folder has the same owner as the modules themselves. If it cannot be written, nothing is kept.
 */
const { enableCompileCache } = modules as { enableCompileCache?: (folder: string) => unknown };
enableCompileCache?.(join(__dirname, '..', '..', '..', 'node_modules', '.cache', 'catalog-service'));
