/** Stores, and the keys that reach them, live in one environment for good (decisions §2). */
export type Environment = 'live' | 'test';

export const ENVIRONMENTS: readonly Environment[] = ['live', 'test'];

/**
 * What is kept apart: a log, a view store and a pipeline of its own each.
 * `control` holds accounts and API keys, which span both environments.
 */
export type Realm = Environment | 'control';

export const REALMS: readonly Realm[] = ['control', 'live', 'test'];
