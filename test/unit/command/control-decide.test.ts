import type { AccountEvent } from '../../../shared/catalog/account/account';
import { accountAggregate, decideAccount } from '../../../shared/catalog/account/account';
import type { ApiKeyEvent } from '../../../shared/catalog/api-key/api-key';
import {
  type ApiKeyCommand,
  apiKeyAggregate,
  decideApiKey,
  USE_INTERVAL_MS,
} from '../../../shared/catalog/api-key/api-key';
import type { ReviewFields } from '../../../shared/catalog/review/review';
import { decideReview, reviewAggregate } from '../../../shared/catalog/review/review';
import type { AccountId, ApiKeyId, ReviewId } from '../../../shared/kernel/ids';
import { AT, NOW_MS, newId, teller } from './support';

describe('an account', () => {
  const { outcome } = teller(accountAggregate, decideAccount, newId<AccountId>());
  const created: AccountEvent = { type: 'AccountCreated', data: { name: 'Acme' } };
  const suspended: AccountEvent = { type: 'AccountSuspended', data: {} };
  const reinstated: AccountEvent = { type: 'AccountReinstated', data: {} };

  test('is created once; another name under its id is refused', () => {
    expect(outcome([], { type: 'CreateAccount', name: 'Acme' })).toEqual([created]);
    expect(outcome([created], { type: 'CreateAccount', name: 'Acme' })).toEqual([]);
    expect(outcome([created], { type: 'CreateAccount', name: 'Other' })).toBe('lost_race');
  });

  test('is suspended and reinstated, each once', () => {
    expect(outcome([created], { type: 'SuspendAccount' })).toEqual([suspended]);
    expect(outcome([created, suspended], { type: 'SuspendAccount' })).toEqual([]);
    expect(outcome([created, suspended], { type: 'ReinstateAccount' })).toEqual([reinstated]);
    expect(outcome([created], { type: 'ReinstateAccount' })).toEqual([]);
  });

  test('that is not there takes no command', () => {
    expect(outcome([], { type: 'SuspendAccount' })).toBe('field_invalid');
    expect(outcome([], { type: 'ReinstateAccount' })).toBe('field_invalid');
  });
});

describe('an API key', () => {
  const { outcome } = teller(apiKeyAggregate, decideApiKey, newId<ApiKeyId>());
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
  const sooner = '2026-02-01T00:00:00.000Z';
  const later = '2026-03-01T00:00:00.000Z';

  test('is created once; another under its id is refused', () => {
    expect(outcome([], { type: 'CreateApiKey', fields })).toEqual([created]);
    expect(outcome([created], { type: 'CreateApiKey', fields })).toEqual([]);
    expect(outcome([created], { type: 'CreateApiKey', fields: { ...fields, name: 'X' } })).toBe('lost_race');
  });

  test('is revoked once', () => {
    const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: {} };
    expect(outcome([created], { type: 'RevokeApiKey' })).toEqual([revoked]);
    expect(outcome([created, revoked], { type: 'RevokeApiKey' })).toEqual([]);
  });

  test('may end sooner, never later', () => {
    expect(outcome([created], expire(later))).toEqual([ends(later)]);
    expect(outcome([created, ends(later)], expire(sooner))).toEqual([ends(sooner)]);
    expect(outcome([created, ends(sooner)], expire(later))).toEqual([]);
    expect(outcome([created, ends(sooner)], expire(sooner))).toEqual([]);
  });

  test(`is noted as used at ${AT} and not again within five minutes`, () => {
    expect(outcome([created], use(NOW_MS))).toEqual([used]);
    expect(outcome([created, used], use(NOW_MS))).toEqual([]);
    expect(outcome([created, used], use(NOW_MS + USE_INTERVAL_MS - 1))).toEqual([]);
    expect(outcome([created, used], use(NOW_MS + USE_INTERVAL_MS))).toEqual([used]);
  });

  test('that is not there takes no command', () => {
    expect(outcome([], expire(later))).toBe('key_invalid');
    expect(outcome([], { type: 'RevokeApiKey' })).toBe('key_invalid');
    expect(outcome([], use(NOW_MS))).toBe('key_invalid');
  });
});

test('a review is posted once', () => {
  const { outcome } = teller(reviewAggregate, decideReview, newId<ReviewId>());
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
  expect(outcome([], { type: 'PostReview', review })).toEqual([posted]);
  expect(outcome([posted], { type: 'PostReview', review })).toEqual([]);
});
