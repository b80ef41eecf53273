import type { AccountEvent } from '../../../shared/catalog/account/account';
import type { ApiKey, ApiKeyEvent } from '../../../shared/catalog/api-key/api-key';
import { Authenticator, type Change, keyOfError } from '../../../shared/http/auth';
import type { ActiveView } from '../../../shared/ports/document-reader';
import { codecAt, conditionOf, entries, grant, ring } from './token-fixtures';

const NOW_MS = Date.UTC(2026, 0, 31, 12);

/** Makes an authenticator of a control realm with one key and one account, whose state the test changes. */
function controlRealm() {
  const clock = { now_ms: NOW_MS };
  const state = {
    key: {
      id: grant.api_key_id,
      account_id: grant.account_id,
      key_hash: 'hash',
      revoked_at: null,
      expires_at: null,
      last_used_at: null,
    } as unknown as ApiKey | undefined,
    key_revision: 0,
    account: 'active' as string | undefined,
    is_down: false,
    reads: 0,
  };
  const read = <T>(value: T): T => {
    state.reads++;
    if (state.is_down) throw new Error('disk I/O error');
    return value;
  };
  const stored = (key: ApiKey) => ({
    id: key.id,
    document: { body: key, state: { revision: state.key_revision } },
  });
  const view = {
    get: async (collection: string) =>
      read(
        collection === 'accounts'
          ? state.account && { document: { state: { account: { status: state.account }, revision: 0 } } }
          : state.key && stored(state.key),
      ),
    find: async (_collection: string, query: { where: { key_hash: string } }) =>
      read(state.key && query.where.key_hash === 'hash' ? [stored(state.key)] : []),
  };
  const control_view = {
    current: async () => (state.is_down ? read(undefined) : view),
  } as unknown as ActiveView;
  const tokens = codecAt(clock, ring(entries.HS256));
  const system = { now: () => clock.now_ms, random: (size: number) => new Uint8Array(size) };
  const changes = {
    ready: Promise.resolve(),
    api_keys: new Map<string, Change<ApiKeyEvent>[]>(),
    accounts: new Map<string, Change<AccountEvent>[]>(),
    key_ids: new Map<string, string>(),
  };
  const authenticator = new Authenticator({ tokens, control_view, changes, system });
  return { clock, state, changes, tokens, authenticator, token: tokens.sign(grant, 900) };
}

const change = (key: ApiKey | undefined, fields: Partial<ApiKey>): ApiKey => ({ ...key!, ...fields });

describe('the authenticator', () => {
  test('returns the principal of a valid token', async () => {
    const { authenticator, token } = controlRealm();
    expect(await authenticator.authenticate(token)).toEqual({
      api_key_id: grant.api_key_id,
      account_id: grant.account_id,
      key_type: 'public',
      environment: 'live',
      stores: grant.stores,
      permissions: grant.permissions,
    });
  });

  test('returns the limits of a key that has its own, and new ones a second later at most', async () => {
    const { authenticator, token, state, clock } = controlRealm();
    const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
    expect(await authenticator.authenticate(token)).not.toHaveProperty('limits');
    state.key = change(state.key, { limits });
    clock.now_ms += 1000;
    expect(await authenticator.authenticate(token)).toMatchObject({ limits });
  });

  test('rejects a revoked key within a second, and requests in between do not extend that second', async () => {
    const { authenticator, token, state, clock } = controlRealm();
    await authenticator.authenticate(token);
    state.key = change(state.key, { revoked_at: '2026-01-31T12:00:00.000Z' });
    for (clock.now_ms = NOW_MS; clock.now_ms < NOW_MS + 1000; clock.now_ms += 100)
      await authenticator.authenticate(token);
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_revoked');
  });

  describe('with changes that the documents do not contain', () => {
    const occurred_at = '2026-01-31T12:00:00.000Z';

    test('rejects a revoked key at once, although its document is cached', async () => {
      const { authenticator, token, changes } = controlRealm();
      await authenticator.authenticate(token);
      const revoked = { event: { type: 'ApiKeyRevoked', data: {} }, revision: 1, occurred_at } as const;
      changes.api_keys.set(grant.api_key_id, [revoked]);
      expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_revoked');
      const found = await authenticator.findKeyByHash('hash');
      expect(found?.revoked_at).toBe(occurred_at);
    });

    test('applies new limits, unless the document contains a later change', async () => {
      const { authenticator, token, state, changes, clock } = controlRealm();
      const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
      const event = { type: 'ApiKeyLimitsSet', data: { limits } } as const;
      changes.api_keys.set(grant.api_key_id, [{ event, revision: 1, occurred_at }]);
      expect(await authenticator.authenticate(token)).toMatchObject({ limits });
      state.key_revision = 2;
      clock.now_ms += 1000;
      expect(await authenticator.authenticate(token)).not.toHaveProperty('limits');
    });

    test('rejects a suspended account, and accepts it again when it is reinstated', async () => {
      const { authenticator, token, changes } = controlRealm();
      const suspended = { event: { type: 'AccountSuspended', data: {} }, revision: 1, occurred_at } as const;
      const reinstated = {
        event: { type: 'AccountReinstated', data: {} },
        revision: 2,
        occurred_at,
      } as const;
      changes.accounts.set(grant.account_id, [suspended]);
      expect(await conditionOf(() => authenticator.authenticate(token))).toBe('account_suspended');
      changes.accounts.set(grant.account_id, [suspended, reinstated]);
      expect(await authenticator.authenticate(token)).toBeDefined();
    });

    test('accepts a new key that has no document yet', async () => {
      const { authenticator, state, changes } = controlRealm();
      const { api_key_id, account_id } = grant;
      state.key = undefined;
      const data = { account_id, name: 'new', stores: [], key_hash: 'new-hash', expires_at: null };
      const event = { type: 'ApiKeyCreated', data } as unknown as ApiKeyEvent;
      changes.api_keys.set(api_key_id, [{ event, revision: 0, occurred_at }]);
      changes.key_ids.set('new-hash', api_key_id);
      expect(await authenticator.findKeyByHash('new-hash')).toMatchObject({ id: api_key_id, name: 'new' });
      expect(await authenticator.findKeyByHash('hash')).toBeUndefined();
    });
  });

  test('rejects an expired key at once, although its state is cached', async () => {
    const { authenticator, token, state, clock } = controlRealm();
    state.key = change(state.key, { expires_at: '2026-01-31T12:00:00.500Z' });
    clock.now_ms = NOW_MS + 499;
    await authenticator.authenticate(token);
    clock.now_ms = NOW_MS + 500;
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_invalid');
  });

  test('rejects a token whose key or account does not exist', async () => {
    const { authenticator, token, state } = controlRealm();
    state.account = undefined;
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_invalid');
    state.key = undefined;
    const other = controlRealm();
    other.state.key = undefined;
    expect(await conditionOf(() => other.authenticator.authenticate(other.token))).toBe('key_invalid');
  });

  test('rejects a token of a suspended account, which verifyToken still accepts', async () => {
    const { authenticator, token, state } = controlRealm();
    state.account = 'suspended';
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('account_suspended');
    expect((await authenticator.verifyToken(token)).claims.api_key_id).toBe(grant.api_key_id);
  });

  test('rejects with unavailable while the state of a key cannot be read', async () => {
    const { authenticator, token, state } = controlRealm();
    const { api_key_id, key_type } = grant;
    state.is_down = true;
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('unavailable');
    expect(await conditionOf(() => authenticator.findKeyByHash('hash'))).toBe('unavailable');
    const refusal = await authenticator.authenticate(token).catch((error: unknown) => error);
    expect(keyOfError(refusal)).toEqual({ api_key_id, key_type, limits: 'unknown' });
    state.is_down = false;
    expect(await authenticator.authenticate(token)).toBeDefined();
  });

  test('reads the state of a key and its account once for concurrent requests, and nothing for a forged token', async () => {
    const { authenticator, token, state } = controlRealm();
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(token)));
    expect(state.reads).toBe(2);
    expect(await conditionOf(() => authenticator.authenticate('forged'))).toBe('token_invalid');
    expect(state.reads).toBe(2);
  });

  test('finds a key by its hash, and does not cache that a key is missing', async () => {
    const { authenticator, state } = controlRealm();
    const key = state.key;
    state.key = undefined;
    expect(await authenticator.findKeyByHash('hash')).toBeUndefined();
    state.key = key;
    expect((await authenticator.findKeyByHash('hash'))?.id).toBe(grant.api_key_id);
  });
});
