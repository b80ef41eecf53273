import { type ApiKeyEvent, type ApiKeyState, evolveApiKey } from '../../shared/catalog/api-key/api-key';
import type { ApiKeyDocument } from '../../shared/catalog/api-key/document';
import type { ApiKeyId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

/** Documents of API keys. Keys are revoked, never deleted. */
export const apiKeyView: View<ApiKeyDocument, ApiKeyEvent> = {
  collection: 'api_keys',
  category: 'api_key',
  fold: (before, event, { id, revision, occurred_at }: EventContext<ApiKeyId>) => {
    const state: ApiKeyState = before ? { tag: 'present', key: before.body } : { tag: 'absent' };
    const after = evolveApiKey(state, event, id, occurred_at);
    if (after.tag === 'absent') return before;
    const { key_hash, account_id, created_at } = after.key;
    return {
      keys: { key_hash, account_id, created_at },
      body: after.key,
      state: { revision },
      expansions: {},
    };
  },
};
