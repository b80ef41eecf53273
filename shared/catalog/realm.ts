/** The environment of a store and of its API keys. It never changes (docs/interface/access.md#stores-and-environments). */
export type Environment = 'live' | 'test';

export const ENVIRONMENTS: readonly Environment[] = ['live', 'test'];

/**
 * A separate set of data with its own event log, view store and projection pipeline. `control` contains accounts and
 * API keys. Accounts belong to no environment, because an account can have stores in both.
 */
export type Realm = Environment | 'control';

export const REALMS: readonly Realm[] = ['control', 'live', 'test'];
