import type { RequestHandler } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import type { Account } from '../catalog/account/account';
import type { ApiKey } from '../catalog/api-key/api-key';
import { LRUCache, TtlCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import { type AccountId, type ApiKeyId, parseId, type StoreId } from '../kernel/ids';
import type { System } from '../kernel/system';
import type { ActiveView, DocumentReader } from '../ports/document-reader';
import type { CacheObserver } from './metrics';
import type { KeyIdentity } from './rate-limit';
import type { Principal } from './request';
import type { TokenClaims, TokenCodec } from './tokens';

/**
 * How long the state of a key is cached. A revocation must reach every process within 5 s (docs/interface.md#tokens), so
 * 4 s are left for the projection.
 */
const STATE_TTL_MS = 1000;
const ENTRIES_MAX = 10_000;

export interface AuthenticatorOptions {
  readonly tokens: TokenCodec;
  /** Documents of the control realm. */
  readonly control_view: ActiveView;
  readonly system: System;
  readonly onCache?: CacheObserver;
}

/**
 * Thrown if a token has a valid signature, but the state of its key cannot be read. The request fails with `unavailable`
 * and still counts against the rate limit of that key: `key` has the limits that this process read last.
 */
export class KeyStateUnavailable extends CatalogError {
  readonly key: KeyIdentity;

  constructor(key: KeyIdentity, cause: unknown) {
    super('unavailable', { cause });
    this.key = key;
  }
}

/**
 * Returns the key whose rate limit a request counts against if authentication has failed with `error`. Returns undefined if
 * the key is unknown; the request then counts against the limit of its IP address.
 */
export function keyOfError(error: unknown): KeyIdentity | undefined {
  return error instanceof KeyStateUnavailable ? error.key : undefined;
}

/** The part of `Authenticator` that the HTTP stages use. */
export type BearerAuthenticator = Pick<Authenticator, 'authenticate'>;

/** Checks tokens and API keys against the state of the key and its account. Caches that state for 1 s. */
export class Authenticator {
  private readonly options: AuthenticatorOptions;
  private readonly keysById: TtlCache<ApiKey>;
  private readonly keysByHash: TtlCache<ApiKey>;
  private readonly accountStates: TtlCache<Account['status']>;
  /**
   * The rate limits of each key, by id, as they were read last. An entry does not expire, because an outage can last
   * longer than any time to live.
   */
  private readonly knownLimits = new LRUCache<string, Pick<ApiKey, 'limits'>>({ max: ENTRIES_MAX });

  constructor(options: AuthenticatorOptions) {
    this.options = options;
    const createCache = <Value>(
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
    this.keysById = createCache('api_key_by_id', async (view, id) =>
      this.rememberLimits((await view.get('api_keys', id))?.document?.body),
    );
    this.keysByHash = createCache('api_key_by_hash', async (view, hash) =>
      this.rememberLimits(await findByHash(view, hash)),
    );
    this.accountStates = createCache('account_status', async (view, id) => {
      const account = await view.get('accounts', id);
      return account?.document?.keys.status ?? undefined;
    });
  }

  /**
   * Returns the principal of a token of `/api/*`. Rejects with `token_invalid`, `token_expired`, `key_revoked`,
   * `key_invalid`, `account_suspended`, or with `KeyStateUnavailable` if the key's state cannot be read.
   */
  async authenticate(bearer: string): Promise<Principal> {
    const { claims, key } = await this.verifyToken(bearer);
    const status = await this.readState(claims, this.accountStatus(claims.account_id));
    if (status === undefined) throw new CatalogError('key_invalid');
    if (status === 'suspended') throw new CatalogError('account_suspended');
    const { api_key_id, account_id, key_type, env, stores, permissions } = claims;
    const principal = { api_key_id, account_id, key_type, environment: env, stores, permissions };
    return key.limits === undefined ? principal : { ...principal, limits: key.limits };
  }

  /**
   * Returns the token's claims and the current state of its key. Rejects like `authenticate`, but ignores the
   * account.
   */
  async verifyToken(bearer: string): Promise<{ claims: TokenClaims; key: ApiKey }> {
    const claims = this.options.tokens.verify(bearer);
    const key = await this.readState(claims, this.keysById.get(claims.api_key_id));
    return { claims, key: this.assertUsable(key) };
  }

  /** Returns the key with this SHA-256 (of the complete key, in hex). Also returns revoked and expired keys. */
  findKeyByHash(hash: string): Promise<ApiKey | undefined> {
    return this.keysByHash.get(hash);
  }

  /** Returns the key with this id. Also returns revoked and expired keys. */
  findKeyById(id: ApiKeyId): Promise<ApiKey | undefined> {
    return this.keysById.get(id);
  }

  /** Returns the status of an account; undefined if it does not exist. */
  accountStatus(id: AccountId): Promise<Account['status'] | undefined> {
    return this.accountStates.get(id);
  }

  /** Returns the key. Throws `key_revoked` if it is revoked, and `key_invalid` if it has expired or does not exist. */
  assertUsable(key: ApiKey | undefined): ApiKey {
    if (key === undefined) throw new CatalogError('key_invalid');
    if (key.revoked_at !== null) throw new CatalogError('key_revoked');
    if (key.expires_at !== null && Date.parse(key.expires_at) <= this.options.system.now())
      throw new CatalogError('key_invalid');
    return key;
  }

  /** Rejects with `unavailable` if the read fails. A key whose state is unknown must not be reported as invalid. */
  private async read<Value>(read: (view: DocumentReader) => Promise<Value>): Promise<Value> {
    try {
      const view = await this.options.control_view.current();
      if (view === undefined) throw new Error('the control realm has no documents yet');
      return await read(view);
    } catch (error) {
      throw error instanceof CatalogError ? error : new CatalogError('unavailable', { cause: error });
    }
  }

  private async readState<State>(claims: TokenClaims, reading: Promise<State>): Promise<State> {
    const { api_key_id, key_type } = claims;
    return reading.catch((error: unknown) => {
      const known = this.knownLimits.get(api_key_id) ?? { limits: 'unknown' as const };
      throw new KeyStateUnavailable({ api_key_id, key_type, ...known }, error);
    });
  }

  /** Stores the limits of a key that was read, for the time when its state cannot be read. Returns the key. */
  private rememberLimits(key: ApiKey | undefined): ApiKey | undefined {
    if (key !== undefined)
      this.knownLimits.set(key.id, key.limits === undefined ? {} : { limits: key.limits });
    return key;
  }
}

async function findByHash(view: DocumentReader, key_hash: string): Promise<ApiKey | undefined> {
  const [found] = await view.find('api_keys', { where: { key_hash }, order: [['id', 'asc']], limit: 1 });
  return found?.document?.body;
}

type Verified = (error: unknown, principal?: Principal) => void;

/**
 * Returns a function that authenticates the value of an `Authorization` header. It rejects with `unauthenticated` if
 * there is no bearer token, and like `Authenticator.authenticate`. A token in the query is ignored, because URLs end
 * up in logs and browser histories.
 */
export function bearerIdentity(
  authenticator: BearerAuthenticator,
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
  return (header) =>
    new Promise((resolve, reject) => {
      const bearer = bearerOf(header);
      const decide = (error: unknown, principal?: Principal | false): void => {
        if (error) reject(error);
        else if (principal) resolve(principal);
        else reject(new CatalogError(bearer === undefined ? 'unauthenticated' : 'token_invalid'));
      };
      const middleware = guard.authenticate('bearer', { session: false }, decide) as RequestHandler;
      // Passport adds methods to the request, which makes every later access to it slow. So it gets a separate
      // object. The strategy accepts only one space after the scheme.
      const authorization = bearer === undefined ? header : `Bearer ${bearer}`;
      const request = { headers: { authorization } } as Parameters<RequestHandler>[0];
      middleware(request, {} as Parameters<RequestHandler>[1], reject);
    });
}

/**
 * Returns the text after `Bearer` and any number of spaces (RFC 9110 §11.4), which may be malformed. Undefined if there
 * is no bearer scheme.
 */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +([^ ].*)$/i.exec(header ?? '')?.[1];
}

/**
 * Returns the store of a request: its `store_id`, or the first store of its token
 * (docs/interface.md#stores-and-environments). Throws `invalid_uuid` for a malformed `store_id`. Throws
 * `store_access_denied` if the token has no stores or not this one; it does not reveal whether such a store exists.
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
