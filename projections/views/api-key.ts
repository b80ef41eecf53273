import {
  type ApiKey,
  type ApiKeyEvent,
  type ApiKeyState,
  evolveApiKey,
} from '../../shared/catalog/api-key/api-key';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { ApiKeyId } from '../../shared/kernel/ids';
import type { Known, Occasion, View } from './view';

export interface ApiKeyViewState {
  readonly revision: number;
}

/** The body is the `ApiKey` as its events add up to. */
export type ApiKeyView = View<ApiKeyViewState, Record<never, never>>;

/** One event of the key's stream. Keys are revoked, never deleted. */
export function foldApiKey(
  before: Known<ApiKeyView>,
  event: ApiKeyEvent,
  { id, revision, at }: Occasion<ApiKeyId>,
): Known<ApiKeyView> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const state: ApiKeyState = before
    ? { tag: 'present', key: before.body as unknown as ApiKey }
    : { tag: 'absent' };
  const after = evolveApiKey(state, event, id, at);
  if (after.tag === 'absent') return before;
  const { key } = after;
  return {
    keys: { key_hash: key.key_hash, account_id: key.account_id, created_at: key.created_at },
    body: { ...key } as unknown as JsonObject,
    state: { revision },
    expansions: {},
  };
}
