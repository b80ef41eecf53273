import type { RequestHandler } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import type { Account } from '../catalog/account/account';
import type { ApiKey } from '../catalog/api-key/api-key';
import { TtlCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import { type AccountId, type ApiKeyId, parseId, type StoreId } from '../kernel/ids';
import type { System } from '../kernel/system';
import { type DocumentReader, typed } from '../ports/document-reader';
import type { ActiveView } from '../ports/view-store';
import type { CacheObserver } from './metrics';
import type { KnownKey } from './rate-limit';
import type { Principal } from './request';
import type { TokenClaims, TokenCodec } from './tokens';

/** Every node must see a revocation within 5 s (decisions §4). This leaves four for the projection. */
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
 * Thrown when a token is valid but the state of its key cannot be read. The request is refused as `unavailable` and
 * still takes its token from the key's rate-limit bucket.
 */
export class KeyStateUnknown extends CatalogError {
  readonly key: KnownKey;

  constructor({ api_key_id, key_type }: KnownKey, cause: unknown) {
    super('unavailable', { cause });
    this.key = { api_key_id, key_type };
  }
}

/** Returns the key whose bucket pays for a request that was refused for this. Undefined: the address's bucket pays. */
export function payerOf(refusal: unknown): KnownKey | undefined {
  return refusal instanceof KeyStateUnknown ? refusal.key : undefined;
}

/** What the edge needs of an `Authenticator`. */
export type BearerCheck = Pick<Authenticator, 'authenticate'>;

/** Checks tokens and API keys against the state of the key and its account. Safe for concurrent use. */
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
   * Returns who a token of `/api/*` stands for. Throws `token_invalid`, `token_expired`, `key_revoked`, `key_invalid`,
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

  /** Returns the token's claims and the current state of its key. Throws as `authenticate` does, but for the account. */
  async verifyToken(bearer: string): Promise<{ claims: TokenClaims; key: ApiKey }> {
    const claims = this.options.tokens.verify(bearer);
    const key = await stateFor(claims, this.keysById.get(claims.api_key_id));
    return { claims, key: this.assertUsable(key) };
  }

  /** Finds a key by the SHA-256 of the whole key, in hex. Also finds revoked and expired keys. */
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

  /** Throws `unavailable` for every failure to read: no credential is refused because its state is unknown. */
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

type Verified = (error: unknown, principal?: Principal) => void;

/**
 * Returns a function that finds who asks from the value of an `Authorization` header. A token in the query is ignored:
 * it would be kept in logs and histories. Rejects with `unauthenticated` if there is no bearer token, and with what
 * `Authenticator.authenticate` throws.
 */
export function bearerIdentity(
  authenticator: BearerCheck,
): (authorization: string | undefined) => Promise<Principal> {
  const guard = new passport.Passport();
  guard.use(
    new Strategy({ realm: 'catalog' }, (token: string, done: Verified) => {
      authenticator.authenticate(token).then(
        (principal) => done(null, principal),
        (error: unknown) => done(error),
      );
    }),
  );
  return (authorization) =>
    new Promise((resolve, reject) => {
      const decide = (error: unknown, principal?: Principal | false): void => {
        if (error) reject(error);
        else if (principal) resolve(principal);
        else reject(new CatalogError(bearerOf(authorization) ? 'token_invalid' : 'unauthenticated'));
      };
      const middleware = guard.authenticate('bearer', { session: false }, decide) as RequestHandler;
      // Passport adds its methods to the request, which makes all later access to it slow. Give it an object of its own.
      const request = { headers: { authorization } } as Parameters<RequestHandler>[0];
      middleware(request, {} as Parameters<RequestHandler>[1], reject);
    });
}

/** Returns what follows `Bearer`, well-formed or not. Undefined for another scheme or none (RFC 6750 §2.1). */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer (\S.*)$/i.exec(header ?? '')?.[1];
}

/**
 * Returns the store a request means: the one it names, else the first of its token (decisions §2). Throws
 * `invalid_uuid`, and `store_access_denied` for a store that is not the token's, whether it exists or not, and for a
 * token without stores.
 */
export function storeOf(principal: Principal, query_store_id?: string): StoreId {
  const store_id = query_store_id === undefined ? principal.stores[0] : parseStoreId(query_store_id);
  if (store_id === undefined || !principal.stores.includes(store_id))
    throw new CatalogError('store_access_denied');
  return store_id;
}

function parseStoreId(text: string): StoreId {
  const id = parseId<StoreId>(text);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'store_id', constraint: 'a UUID' }]);
  return id;
}
