import type { AccountEvent } from '../../../shared/catalog/account/account';
import { accountAggregate } from '../../../shared/catalog/account/account';
import type { ApiKeyEvent } from '../../../shared/catalog/api-key/api-key';
import {
  type ApiKeyCommand,
  apiKeyAggregate,
  type KeyLimits,
  USE_INTERVAL_MS,
} from '../../../shared/catalog/api-key/api-key';
import type { ReviewFields } from '../../../shared/catalog/review/review';
import { reviewAggregate } from '../../../shared/catalog/review/review';
import type { AccountId, ApiKeyId, ReviewId } from '../../../shared/kernel/ids';
import { AT, deciderSpec, NOW_MS, newId } from './support';

describe('an account', () => {
  const given = deciderSpec(accountAggregate, newId<AccountId>());
  const created: AccountEvent = { type: 'AccountCreated', data: { name: 'Acme' } };
  const suspended: AccountEvent = { type: 'AccountSuspended', data: {} };
  const reinstated: AccountEvent = { type: 'AccountReinstated', data: {} };

  test('is created once, and another name with its id is rejected', () => {
    given([]).when({ type: 'CreateAccount', name: 'Acme' }).thenAppends([created]);
    given([created]).when({ type: 'CreateAccount', name: 'Acme' }).thenAppendsNothing();
    given([created]).when({ type: 'CreateAccount', name: 'Other' }).thenRejects('lost_race');
  });

  test('is suspended and reinstated, each only once', () => {
    given([created]).when({ type: 'SuspendAccount' }).thenAppends([suspended]);
    given([created, suspended]).when({ type: 'SuspendAccount' }).thenAppendsNothing();
    given([created, suspended]).when({ type: 'ReinstateAccount' }).thenAppends([reinstated]);
    given([created]).when({ type: 'ReinstateAccount' }).thenAppendsNothing();
  });

  test('that does not exist rejects every command', () => {
    given([]).when({ type: 'SuspendAccount' }).thenRejects('field_invalid');
    given([]).when({ type: 'ReinstateAccount' }).thenRejects('field_invalid');
  });
});

describe('an API key', () => {
  const given = deciderSpec(apiKeyAggregate, newId<ApiKeyId>());
  const fields = {
    account_id: newId(),
    name: 'Web',
    type: 'public',
    environment: 'live',
    stores: [newId()],
    permissions: ['read:stores'],
    key_hash: 'a'.repeat(64),
    expires_at: null,
  } satisfies Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'];
  const created: ApiKeyEvent = { type: 'ApiKeyCreated', data: fields };
  const used: ApiKeyEvent = { type: 'ApiKeyUsed', data: {} };
  const ends = (expires_at: string): ApiKeyEvent => ({ type: 'ApiKeyExpirySet', data: { expires_at } });
  const expire = (expires_at: string): ApiKeyCommand => ({ type: 'ExpireApiKey', expires_at });
  const use = (used_at_ms: number): ApiKeyCommand => ({ type: 'RecordApiKeyUse', used_at_ms });
  const earlier = '2026-02-01T00:00:00.000Z';
  const later = '2026-03-01T00:00:00.000Z';

  test('is created once, and another key with its id is rejected', () => {
    given([]).when({ type: 'CreateApiKey', fields }).thenAppends([created]);
    given([created]).when({ type: 'CreateApiKey', fields }).thenAppendsNothing();
    given([created])
      .when({ type: 'CreateApiKey', fields: { ...fields, name: 'X' } })
      .thenRejects('lost_race');
  });

  test('is revoked only once', () => {
    const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: {} };
    given([created]).when({ type: 'RevokeApiKey' }).thenAppends([revoked]);
    given([created, revoked]).when({ type: 'RevokeApiKey' }).thenAppendsNothing();
  });

  test('can be set to expire earlier, but not later', () => {
    given([created])
      .when(expire(later))
      .thenAppends([ends(later)]);
    given([created, ends(later)])
      .when(expire(earlier))
      .thenAppends([ends(earlier)]);
    given([created, ends(earlier)])
      .when(expire(later))
      .thenAppendsNothing();
    given([created, ends(earlier)])
      .when(expire(earlier))
      .thenAppendsNothing();
  });

  test('records a use, and no other one within five minutes', () => {
    given([created]).when(use(NOW_MS)).thenAppends([used]);
    given([created, used]).when(use(NOW_MS)).thenAppendsNothing();
    given([created, used])
      .when(use(NOW_MS + USE_INTERVAL_MS - 1))
      .thenAppendsNothing();
    given([created, used])
      .when(use(NOW_MS + USE_INTERVAL_MS))
      .thenAppends([used]);
  });

  test('gets limits of its own and loses them again, and a repetition changes nothing', () => {
    const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
    const set = (limits: KeyLimits | null): ApiKeyEvent => ({ type: 'ApiKeyLimitsSet', data: { limits } });
    const setLimits = (limits: KeyLimits | null): ApiKeyCommand => ({ type: 'SetApiKeyLimits', limits });
    given([created])
      .when(setLimits(limits))
      .thenAppends([set(limits)]);
    given([created, set(limits)])
      .when(setLimits({ ...limits }))
      .thenAppendsNothing();
    given([created, set(limits)])
      .when(setLimits(null))
      .thenAppends([set(null)]);
    given([created]).when(setLimits(null)).thenAppendsNothing();
    given([created, set(limits), set(null)])
      .when(setLimits(null))
      .thenAppendsNothing();
    const born_with: ApiKeyEvent = { type: 'ApiKeyCreated', data: { ...fields, limits } };
    given([born_with]).when(setLimits(limits)).thenAppendsNothing();
    given([created, { type: 'ApiKeyRevoked', data: {} }])
      .when(setLimits(limits))
      .thenRejects('key_revoked');
  });

  test('that does not exist rejects every command', () => {
    given([]).when({ type: 'SetApiKeyLimits', limits: null }).thenRejects('key_invalid');
    given([]).when(expire(later)).thenRejects('key_invalid');
    given([]).when({ type: 'RevokeApiKey' }).thenRejects('key_invalid');
    given([]).when(use(NOW_MS)).thenRejects('key_invalid');
  });
});

test('a review is posted once', () => {
  const given = deciderSpec(reviewAggregate, newId<ReviewId>());
  const review: ReviewFields = {
    store_id: newId(),
    publication_id: newId(),
    rating: 5,
    title: null,
    body: 'Good',
    author_name: 'Ann',
    verified: false,
    created_at: AT,
  };
  const posted = { type: 'ReviewPosted', data: review } as const;
  given([]).when({ type: 'PostReview', review }).thenAppends([posted]);
  given([posted]).when({ type: 'PostReview', review }).thenAppendsNothing();
});
