import type { ApiKey } from '../../../shared/catalog/api-key/api-key';
import { Authenticator, payerOf } from '../../../shared/http/auth';
import type { ActiveView } from '../../../shared/ports/view-store';
import { codecAt, conditionOf, entries, grant, ring } from './token-fixtures';

const NOW_MS = Date.UTC(2026, 0, 31, 12);

/** A control realm of one key and one account, whose state the test changes. */
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
    account: 'active' as string | undefined,
    down: false,
    reads: 0,
  };
  const answer = <T>(value: T): T => {
    state.reads++;
    if (state.down) throw new Error('disk I/O error');
    return value;
  };
  const view = {
    get: async (collection: string) =>
      answer(
        collection === 'accounts'
          ? state.account && { document: { keys: { status: state.account } } }
          : state.key && { document: { body: state.key } },
      ),
    find: async (_collection: string, query: { where: { key_hash: string } }) =>
      answer(state.key && query.where.key_hash === 'hash' ? [{ document: { body: state.key } }] : []),
  };
  const keys = { current: async () => (state.down ? answer(undefined) : view) } as unknown as ActiveView;
  const tokens = codecAt(clock, ring(entries.HS256));
  const system = { now: () => clock.now_ms, random: (size: number) => new Uint8Array(size) };
  const authenticator = new Authenticator({ tokens, keys, system });
  return { clock, state, tokens, authenticator, token: tokens.sign(grant, 900) };
}

const change = (key: ApiKey | undefined, fields: Partial<ApiKey>): ApiKey => ({ ...key!, ...fields });

describe('who stands behind a token', () => {
  test('a good token of a good key of an active account', async () => {
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

  test('a revocation is seen within a second, and not a moment of trust is added by asking again', async () => {
    const { authenticator, token, state, clock } = controlRealm();
    await authenticator.authenticate(token);
    state.key = change(state.key, { revoked_at: '2026-01-31T12:00:00.000Z' });
    for (clock.now_ms = NOW_MS; clock.now_ms < NOW_MS + 1000; clock.now_ms += 100)
      await authenticator.authenticate(token);
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_revoked');
  });

  test('an expiry needs no reading: it is seen at once', async () => {
    const { authenticator, token, state, clock } = controlRealm();
    state.key = change(state.key, { expires_at: '2026-01-31T12:00:00.500Z' });
    clock.now_ms = NOW_MS + 499;
    await authenticator.authenticate(token);
    clock.now_ms = NOW_MS + 500;
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_invalid');
  });

  test('a key or an account that is gone', async () => {
    const { authenticator, token, state } = controlRealm();
    state.account = undefined;
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('key_invalid');
    state.key = undefined;
    const other = controlRealm();
    other.state.key = undefined;
    expect(await conditionOf(() => other.authenticator.authenticate(other.token))).toBe('key_invalid');
  });

  test('a suspended account keeps its tokens but not its access', async () => {
    const { authenticator, token, state } = controlRealm();
    state.account = 'suspended';
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('account_suspended');
    expect((await authenticator.verifyToken(token)).claims.api_key_id).toBe(grant.api_key_id);
  });

  test('where the state cannot be read nobody is refused for it: unavailable, until it can', async () => {
    const { authenticator, token, state } = controlRealm();
    state.down = true;
    expect(await conditionOf(() => authenticator.authenticate(token))).toBe('unavailable');
    expect(await conditionOf(() => authenticator.findKeyByHash('hash'))).toBe('unavailable');
    const refusal = await authenticator.authenticate(token).catch((error: unknown) => error);
    expect(payerOf(refusal)).toEqual({ api_key_id: grant.api_key_id, key_type: grant.key_type });
    state.down = false;
    expect(await authenticator.authenticate(token)).toBeDefined();
  });

  test('a hot token costs two reads a second, a bad one none', async () => {
    const { authenticator, token, state } = controlRealm();
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(token)));
    expect(state.reads).toBe(2);
    expect(await conditionOf(() => authenticator.authenticate('forged'))).toBe('token_invalid');
    expect(state.reads).toBe(2);
  });

  test('a key is found by its hash, and one that is not there is looked for again', async () => {
    const { authenticator, state } = controlRealm();
    const key = state.key;
    state.key = undefined;
    expect(await authenticator.findKeyByHash('hash')).toBeUndefined();
    state.key = key;
    expect((await authenticator.findKeyByHash('hash'))?.id).toBe(grant.api_key_id);
  });
});
