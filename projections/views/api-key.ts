import { type ApiKeyEvent, apiKeyAggregate } from '../../shared/catalog/api-key/api-key';
import type { ApiKeyDocument } from '../../shared/catalog/api-key/document';
import { stateOf } from '../../shared/catalog/events/aggregate';
import type { ApiKeyId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

/** Documents of API keys. Keys are revoked, never deleted. */
export const apiKeyView: View<ApiKeyDocument, ApiKeyEvent> = {
  collection: 'api_keys',
  category: 'api_key',
  fold: (before, event, { id, revision, occurred_at }: EventContext<ApiKeyId>) => {
    const after = apiKeyAggregate.evolve(stateOf(before?.body), event, id, occurred_at);
    if (after.tag !== 'present') return before;
    const { key_hash, account_id, created_at } = after.resource;
    return {
      keys: { key_hash, account_id, created_at },
      body: after.resource,
      state: { revision },
      expansions: {},
    };
  },
};
