import { documentAfter } from '../../support/folding';
import type { Step } from '../../support/history';
import {
  publicationId,
  reviewDeleted,
  reviewId,
  reviewModerated,
  reviewPosted,
  storeId,
} from '../../support/history';

const id = '10000000-0000-7000-8000-000000000001';
const account = (type: string, data: Step['data'] = {}): Step => ({
  category: 'account',
  id,
  type,
  data,
  store_id: id,
});
const key = (type: string, data: Step['data'] = {}): Step => ({
  category: 'api_key',
  id,
  type,
  data,
  store_id: id,
});

const created = key('ApiKeyCreated', {
  account_id: id,
  name: 'Shop window',
  type: 'public',
  environment: 'live',
  stores: [storeId(0)],
  permissions: ['read:stores'],
  key_hash: 'ab'.repeat(32),
  expires_at: null,
});

describe('the documents of the control realm', () => {
  test('an account is active, suspended, and active again after reinstatement', async () => {
    const created = account('AccountCreated', { name: 'Acme' });
    const suspended = [created, account('AccountSuspended')];
    expect(await documentAfter([created], 'accounts', id)).toMatchObject({
      body: { id, name: 'Acme', status: 'active' },
    });
    expect((await documentAfter(suspended, 'accounts', id))!.keys).toEqual({ status: 'suspended' });
    const reinstated = [...suspended, account('AccountReinstated')];
    expect((await documentAfter(reinstated, 'accounts', id))!.keys).toEqual({ status: 'active' });
  });

  test('an API key is found by its hash and shows the state after all its events', async () => {
    const document = await documentAfter([created, key('ApiKeyUsed'), key('ApiKeyRevoked')], 'api_keys', id);
    expect(document).toMatchObject({
      keys: { key_hash: 'ab'.repeat(32), account_id: id },
      body: {
        id,
        stores: [storeId(0)],
        revoked_at: expect.stringContaining('2026'),
        last_used_at: expect.stringContaining('2026'),
      },
    });
  });

  test('an API key has no field for limits before they are set and after they are removed', async () => {
    const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
    const set = key('ApiKeyLimitsSet', { limits });
    const bodyAfter = async (...more: (typeof created)[]) =>
      (await documentAfter([created, ...more], 'api_keys', id))!.body;
    expect(Object.keys(await bodyAfter())).not.toEqual(expect.arrayContaining(['limits']));
    expect(await bodyAfter(set)).toMatchObject({ limits });
    expect(await bodyAfter(set, key('ApiKeyLimitsSet', { limits: null }))).toEqual(await bodyAfter());
  });

  test('a review is in the list of its publication while it is published', async () => {
    const after = (...more: Step[]) =>
      documentAfter([reviewPosted(1, 2, 4), ...more], 'reviews', reviewId(1));
    const publication_id = publicationId(2);
    expect(await after()).toMatchObject({
      keys: {
        store_id: storeId(0),
        publication_id,
        about_id: publication_id,
        status: 'published',
        rating: 4,
      },
      body: { object: 'review', rating: 4, verified: false, created_at: '2025-12-01T00:00:00.000Z' },
    });
    expect(await after(reviewModerated(1, 2, 'rejected'))).toMatchObject({
      keys: { publication_id: null, about_id: publication_id, status: 'rejected' },
      body: { publication_id, status: 'rejected' },
    });
    const restored = await after(reviewModerated(1, 2, 'pending'), reviewModerated(1, 2, 'published'));
    expect(restored).toEqual(await after());
    expect(await after(reviewDeleted(1, 2), reviewModerated(1, 2, 'published'))).toBeNull();
  });
});
