import { HAS_REUSE_PORT } from '../../services/boot/listen';

/** The settings of a service with two HTTP processes, or with one if this Node.js is too old for two. */
export const TWO_WORKERS: Readonly<Record<string, string>> = HAS_REUSE_PORT ? { WORKERS: '2' } : {};
