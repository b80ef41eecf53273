import type { RequestHandler } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { type Account, type AccountEvent, accountAggregate } from '../catalog/account/account';
import { type ApiKey, type ApiKeyEvent, apiKeyAggregate, keyStatus } from '../catalog/api-key/api-key';
import type { ApiKeyDocument } from '../catalog/api-key/document';
import { type Aggregate, stateOf } from '../catalog/events/aggregate';
import type { Permission } from '../catalog/vocabulary';
import { LRUCache, TtlCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import { type AccountId, type AnyId, type ApiKeyId, parseId, type StoreId } from '../kernel/ids';
import type { System } from '../kernel/system';
import type { ActiveView, DocumentReader } from '../ports/document-reader';
import type { DocumentPart } from '../ports/view-store';
import type { CacheObserver } from './metrics';
import type { KeyIdentity } from './rate-limit';
import type { Principal } from './request';
import type { TokenClaims, TokenCodec } from './tokens';

/**
 * How long the document of a key is cached. A process that cannot reach the event store sees a revocation when its
 * document has changed and the cached one is this old.
 */
const DOCUMENT_TTL_MS = 1000;
const ENTRIES_MAX = 10_000;

/** The part of a document that contains its revision. */
const WITH_REVISION: readonly DocumentPart[] = ['state'];

/** An event of an account or API key. */
export interface Change<Event> {
  readonly event: Event;
  /** Revision of the event in its stream. */
  readonly revision: number;
  /** ISO 8601. */
  readonly occurred_at: string;
}

/**
 * Recent changes of accounts and API keys, which their documents may contain or not. Plain data that changes over time.
 */
export interface ControlChanges {
  /**
   * Resolves when the changes from before the start of this process are included, or when that cannot be waited for.
   * Never rejects.
   */
  readonly ready: Promise<void>;
  /** The changes of each key by its id, in the order of their revisions. */
  readonly api_keys: ReadonlyMap<string, readonly Change<ApiKeyEvent>[]>;
  /** The changes of each account by its id, in the order of their revisions. */
  readonly accounts: ReadonlyMap<string, readonly Change<AccountEvent>[]>;
  /** The ids of new keys by the SHA-256 of the key. */
  readonly key_ids: ReadonlyMap<string, string>;
}

export interface AuthenticatorOptions {
  readonly tokens: TokenCodec;
  /** Documents of the control realm. */
  readonly control_view: ActiveView;
  readonly changes: ControlChanges;
  readonly system: System;
  readonly onCache?: CacheObserver;
}

/**
 * Thrown if a token has a valid signature, but the state of its key cannot be read. The request fails with `unavailable`
 * and counts against a bucket of the key.
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

/** The state of an account or key as its document contains it. */
interface Stored<Resource> {
  readonly resource: Resource;
  /** Revision of the last event that is included. */
  readonly revision: number;
}

/**
 * Checks tokens and API keys against the state of the key and its account. That state is the document, which is cached
 * for 1 s, with the changes that it does not contain yet.
 */
export class Authenticator {
  private readonly options: AuthenticatorOptions;
  private readonly keysById: TtlCache<Stored<ApiKey>>;
  private readonly keysByHash: TtlCache<Stored<ApiKey> & { readonly id: string }>;
  private readonly accounts: TtlCache<Stored<Account>>;
  /** The principal of each token whose claims are remembered, with the limits that its key had last. */
  private readonly principals = new WeakMap<TokenClaims, Principal>();

  constructor(options: AuthenticatorOptions) {
    this.options = options;
    const createCache = <Value>(
      name: string,
      read: (view: DocumentReader, key: string) => Promise<Value | undefined>,
    ) =>
      new TtlCache<Value>({
        ttl_ms: DOCUMENT_TTL_MS,
        entries_max: ENTRIES_MAX,
        now: options.system.now,
        load: async (key) => this.read((view) => read(view, key)),
        onLookup: (hit) => options.onCache?.(name, hit),
      });
    this.keysById = createCache('api_key_by_id', async (view, id) =>
      storedKey((await view.get('api_keys', id, WITH_REVISION))?.document),
    );
    this.keysByHash = createCache('api_key_by_hash', async (view, key_hash) => {
      const query = { where: { key_hash }, order: [['id', 'asc']], limit: 1, parts: WITH_REVISION } as const;
      const [found] = await view.find('api_keys', query);
      const stored = storedKey(found?.document);
      return found && stored && { ...stored, id: found.id };
    });
    this.accounts = createCache<Stored<Account>>('account_status', async (view, id) => {
      const stored = (await view.get('accounts', id, WITH_REVISION))?.document?.state;
      return stored && { resource: stored.account, revision: stored.revision };
    });
  }

  /**
   * Returns the principal of a token of `/api/*`. Rejects with `token_invalid`, `token_expired`, `key_revoked`,
   * `key_invalid`, `account_suspended`, or with `KeyStateUnavailable` if the key's state cannot be read.
   */
  async authenticate(bearer: string): Promise<Principal> {
    const claims = this.options.tokens.verify(bearer);
    const { api_key_id, account_id } = claims;
    await this.options.changes.ready;
    const reading = Promise.all([this.keysById.get(api_key_id), this.accounts.get(account_id)]);
    const [stored_key, stored_account] = await this.readState(claims, reading);
    const key = this.assertUsable(this.currentKey(api_key_id, stored_key));
    const status = this.currentStatus(account_id, stored_account);
    if (status === undefined) throw new CatalogError('key_invalid');
    if (status === 'suspended') throw new CatalogError('account_suspended');
    return this.principalOf(claims, key);
  }

  /** Returns the same object as long as the key's limits have not been read again. */
  private principalOf(claims: TokenClaims, key: ApiKey): Principal {
    const { limits, needs_confirmation, price_list } = key;
    const known = this.principals.get(claims);
    const is_same =
      known?.limits === limits &&
      known?.needs_confirmation === needs_confirmation &&
      known?.price_list === price_list;
    if (known && is_same) return known;
    const { api_key_id, account_id, key_type, env, stores, permissions } = claims;
    const granted = { api_key_id, account_id, key_type, environment: env, stores, permissions };
    const principal = {
      ...granted,
      ...(limits !== undefined && { limits }),
      ...(needs_confirmation && { needs_confirmation }),
      ...(price_list !== undefined && { price_list }),
    };
    this.principals.set(claims, principal);
    return principal;
  }

  /**
   * Returns the token's claims and the current state of its key. Rejects like `authenticate`, but ignores the
   * account.
   */
  async verifyToken(bearer: string): Promise<{ claims: TokenClaims; key: ApiKey }> {
    const claims = this.options.tokens.verify(bearer);
    const key = await this.readState(claims, this.findKeyById(claims.api_key_id));
    return { claims, key: this.assertUsable(key) };
  }

  /** Returns the key with this SHA-256 (of the complete key, in hex). Also returns revoked and expired keys. */
  async findKeyByHash(hash: string): Promise<ApiKey | undefined> {
    const { changes } = this.options;
    await changes.ready;
    const new_id = changes.key_ids.get(hash);
    if (new_id !== undefined) return this.findKeyById(new_id as ApiKeyId);
    const stored = await this.keysByHash.get(hash);
    return stored && this.currentKey(stored.id, stored);
  }

  /** Returns the key with this id. Also returns revoked and expired keys. */
  async findKeyById(id: ApiKeyId): Promise<ApiKey | undefined> {
    await this.options.changes.ready;
    return this.currentKey(id, await this.keysById.get(id));
  }

  /** Returns the status of an account; undefined if it does not exist. */
  async accountStatus(id: AccountId): Promise<Account['status'] | undefined> {
    const { changes } = this.options;
    await changes.ready;
    return this.currentStatus(id, await this.accounts.get(id));
  }

  /** Returns the key. Throws `key_revoked` if it is revoked, and `key_invalid` if it has expired or does not exist. */
  assertUsable(key: ApiKey | undefined): ApiKey {
    if (key === undefined) throw new CatalogError('key_invalid');
    const status = keyStatus(key, this.options.system.now());
    if (status === 'revoked') throw new CatalogError('key_revoked');
    if (status === 'expired') throw new CatalogError('key_invalid');
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
      throw new KeyStateUnavailable({ api_key_id, key_type, limits: 'unknown' }, error);
    });
  }

  private currentStatus(id: AccountId, stored: Stored<Account> | undefined): Account['status'] | undefined {
    return withChanges(accountAggregate, id, stored, this.options.changes.accounts.get(id))?.status;
  }

  /** Returns the key with the changes that its document does not contain yet. */
  private currentKey(id: string, stored: Stored<ApiKey> | undefined): ApiKey | undefined {
    return withChanges(apiKeyAggregate, id as ApiKeyId, stored, this.options.changes.api_keys.get(id));
  }
}

function storedKey(document: ApiKeyDocument | null | undefined): Stored<ApiKey> | undefined {
  return document ? { resource: document.body, revision: document.state.revision } : undefined;
}

/** Returns the resource after the changes that are newer than the stored one. */
function withChanges<Resource, Event, Id extends AnyId>(
  aggregate: Pick<Aggregate<Resource, Event, Id, never>, 'evolve'>,
  id: Id,
  stored: Stored<Resource> | undefined,
  changes: readonly Change<Event>[] = [],
): Resource | undefined {
  let state = stateOf(stored?.resource);
  for (const { event, revision, occurred_at } of changes)
    if (stored === undefined || revision > stored.revision)
      state = aggregate.evolve(state, event, id, occurred_at);
  return state.tag === 'present' ? state.resource : undefined;
}

/** Also matches a key that was copied incompletely. No token begins like this. */
const API_KEY_START = /^[ps]k_(live|test)_/;
const KEY_AS_TOKEN = 'This is an API key and not a token; POST /auth/token exchanges an API key for a token';

/** Maximum number of tokens that passport is not asked about again. */
const TOKENS_MAX = 10_000;
/** The last characters of a token, by which it is looked up, because V8 needs 1 µs to hash all of them. */
const KEY_LENGTH = 40;

/**
 * Returns a function that authenticates the value of an `Authorization` header. It rejects with `unauthenticated` if
 * there is no bearer token, and like `Authenticator.authenticate`. A token in the query is ignored, because URLs end
 * up in logs and browser histories.
 */
export function bearerIdentity(
  authenticator: BearerAuthenticator,
): (authorization: string | undefined) => Promise<Principal> {
  const isWellFormed = bearerRule();
  // Passport costs a tenth of a read from the edge cache, and takes every token that it has taken before.
  const taken = new LRUCache<string, { readonly header: string; readonly bearer: string }>({
    max: TOKENS_MAX,
  });
  return async (header = '') => {
    const end = header.slice(-KEY_LENGTH);
    const known = taken.get(end);
    if (known?.header === header) return authenticator.authenticate(known.bearer);
    const bearer = bearerOf(header);
    if (bearer === undefined) throw new CatalogError('unauthenticated');
    if (API_KEY_START.test(bearer)) throw new CatalogError('token_invalid', { message: KEY_AS_TOKEN });
    if (!isWellFormed(bearer)) throw new CatalogError('token_invalid');
    const principal = await authenticator.authenticate(bearer);
    taken.set(end, { header, bearer });
    return principal;
  };
}

/** Returns a function that asks Passport's strategy, which answers at once, whether a text can be a bearer token. */
function bearerRule(): (bearer: string) => boolean {
  const guard = new passport.Passport();
  guard.use(new Strategy((token: string, done: Verified) => done(null, token)));
  return (bearer) => {
    let is_well_formed = false;
    const decide = (_: unknown, token?: unknown): void => {
      is_well_formed = token === bearer;
    };
    const middleware = guard.authenticate('bearer', { session: false }, decide) as RequestHandler;
    // Passport adds methods to the request, which makes every later access to it slow. So it gets a separate object.
    const request = { headers: { authorization: `Bearer ${bearer}` } } as Parameters<RequestHandler>[0];
    middleware(request, {} as Parameters<RequestHandler>[1], decide);
    return is_well_formed;
  };
}

type Verified = (error: unknown, token: string) => void;

/**
 * Returns the text after `Bearer` and any number of spaces (RFC 9110 §11.4), which may be malformed. Undefined if there
 * is no bearer scheme.
 */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +([^ ].*)$/i.exec(header ?? '')?.[1];
}

/**
 * Returns the store of a request: its `store_id`, or the first store of its token
 * (docs/interface/access.md#stores-and-environments). Throws `invalid_uuid` for a malformed `store_id`. Throws
 * `store_access_denied` if the token has no stores or not this store; the error does not reveal whether the store exists.
 */
export function storeOf(principal: Principal, query_store_id?: string): StoreId {
  const store_id = query_store_id === undefined ? principal.stores[0] : parseStoreId(query_store_id);
  if (store_id === undefined || !principal.stores.includes(store_id))
    throw new CatalogError('store_access_denied');
  return store_id;
}

/** Throws `insufficient_permissions` unless the key has all of them. */
export function requirePermissions(
  { principal }: { readonly principal: Principal },
  permissions: readonly Permission[],
): void {
  for (const permission of permissions)
    if (!principal.permissions.includes(permission))
      throw new CatalogError('insufficient_permissions', {
        message: `This request requires a secret key with the permission ${permission}`,
      });
}

function parseStoreId(text: string): StoreId {
  const id = parseId<StoreId>(text);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'store_id', constraint: 'a UUID' }]);
  return id;
}
