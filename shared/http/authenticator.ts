import type { Account } from '../catalog/account/account';
import type { ApiKey } from '../catalog/api-key/api-key';
import { TtlCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import type { AccountId, ApiKeyId } from '../kernel/ids';
import type { System } from '../kernel/system';
import type { ActiveView } from '../ports/active-view';
import { type DocumentReader, typed } from '../ports/document-reader';
import type { CacheObserver } from './metrics';
import type { Principal } from './principal';
import type { KnownKey } from './rate-limit';
import type { TokenClaims, TokenCodec } from './tokens';

/** A revocation is to be seen within 5 s on every node (decisions §4); this leaves four for the projection. */
const STATE_TTL_MS = 1000;
const ENTRIES_MAX = 10_000;

export interface AuthenticatorOptions {
  readonly tokens: TokenCodec;
  /** The control realm's documents. */
  readonly keys: ActiveView;
  readonly system: System;
  readonly onCache?: CacheObserver;
}

/**
 * The token is valid and names its key, whose state cannot be read: the request is refused as `unavailable`, and pays
 * as that key all the same.
 */
export class KeyStateUnknown extends CatalogError {
  readonly key: KnownKey;

  constructor({ api_key_id, key_type }: KnownKey, cause: unknown) {
    super('unavailable', { cause });
    this.key = { api_key_id, key_type };
  }
}

/** Whose bucket pays for a request that was refused for this; undefined: its address's. */
export function payerOf(refusal: unknown): KnownKey | undefined {
  return refusal instanceof KeyStateUnknown ? refusal.key : undefined;
}

/** What the edge needs of it. */
export type BearerCheck = Pick<Authenticator, 'authenticate'>;

/** Tokens and keys against the state of the key and the account they stand for. Any number of calls may run at once. */
export class Authenticator {
  private readonly options: AuthenticatorOptions;
  private readonly keysById: TtlCache<ApiKey>;
  private readonly keysByHash: TtlCache<ApiKey>;
  private readonly accountStates: TtlCache<Account['status']>;

  constructor(options: AuthenticatorOptions) {
    this.options = options;
    const cached = <Value>(
      name: string,
      read: (view: DocumentReader, key: string) => Promise<Value | undefined>,
    ) =>
      new TtlCache<Value>({
        ttl_ms: STATE_TTL_MS,
        entries_max: ENTRIES_MAX,
        now: options.system.now,
        load: async (key) => this.read((view) => read(view, key)),
        onLookup: (hit) => options.onCache?.(name, hit),
      });
    this.keysById = cached(
      'api_key_by_id',
      async (view, id) => (await view.get('api_keys', id))?.document?.body,
    );
    this.keysByHash = cached('api_key_by_hash', findByHash);
    this.accountStates = cached('account_status', async (view, id) => {
      const account = await view.get('accounts', id);
      return account?.document?.keys.status ?? undefined;
    });
  }

  /**
   * Who stands behind a token of `/api/*`. Throws `token_invalid`, `token_expired`, `key_revoked`, `key_invalid`,
   * `account_suspended`, or `KeyStateUnknown` where the key's state cannot be read.
   */
  async authenticate(bearer: string): Promise<Principal> {
    const { claims } = await this.verifyToken(bearer);
    const status = await stateFor(claims, this.accountStatus(claims.account_id));
    if (status === undefined) throw new CatalogError('key_invalid');
    if (status === 'suspended') throw new CatalogError('account_suspended');
    const { api_key_id, account_id, key_type, env, stores, permissions } = claims;
    return { api_key_id, account_id, key_type, environment: env, stores, permissions };
  }

  /** The token's claims and its key as it is now. Throws as `authenticate` does, but for the account. */
  async verifyToken(bearer: string): Promise<{ claims: TokenClaims; key: ApiKey }> {
    const claims = this.options.tokens.verify(bearer);
    const key = await stateFor(claims, this.keysById.get(claims.api_key_id));
    return { claims, key: this.assertUsable(key) };
  }

  /** By the SHA-256 of the whole key, in hex; also a revoked or expired one. */
  findKeyByHash(hash: string): Promise<ApiKey | undefined> {
    return this.keysByHash.get(hash);
  }

  findKeyById(id: ApiKeyId): Promise<ApiKey | undefined> {
    return this.keysById.get(id);
  }

  accountStatus(id: AccountId): Promise<Account['status'] | undefined> {
    return this.accountStates.get(id);
  }

  /** Throws `key_revoked`, or `key_invalid` for one that has expired or is gone. */
  assertUsable(key: ApiKey | undefined): ApiKey {
    if (key === undefined) throw new CatalogError('key_invalid');
    if (key.revoked_at !== null) throw new CatalogError('key_revoked');
    if (key.expires_at !== null && Date.parse(key.expires_at) <= this.options.system.now())
      throw new CatalogError('key_invalid');
    return key;
  }

  /** No credential is refused because of a state that is not known: every failure to read it is `unavailable`. */
  private async read<Value>(read: (view: DocumentReader) => Promise<Value>): Promise<Value> {
    try {
      const view = await this.options.keys.current();
      if (view === undefined) throw new Error('the control realm has no documents yet');
      return await read(typed(view));
    } catch (error) {
      throw error instanceof CatalogError ? error : new CatalogError('unavailable', { cause: error });
    }
  }
}

async function stateFor<State>(claims: TokenClaims, reading: Promise<State>): Promise<State> {
  return reading.catch((error: unknown) => {
    throw new KeyStateUnknown(claims, error);
  });
}

async function findByHash(view: DocumentReader, key_hash: string): Promise<ApiKey | undefined> {
  const [found] = await view.find('api_keys', { where: { key_hash }, order: [['id', 'asc']], limit: 1 });
  return found?.document?.body;
}
