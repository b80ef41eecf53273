import { type ApiKeyEvent, type ApiKeyState, evolveApiKey } from '../../shared/catalog/api-key/api-key';
import type { ApiKeyDocument } from '../../shared/catalog/api-key/document';
import type { ApiKeyId } from '../../shared/kernel/ids';
import type { Known, Occasion } from './view';

/** One event of the key's stream. Keys are revoked, never deleted. */
export function foldApiKey(
  before: Known<ApiKeyDocument>,
  event: ApiKeyEvent,
  { id, revision, at }: Occasion<ApiKeyId>,
): Known<ApiKeyDocument> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const state: ApiKeyState = before ? { tag: 'present', key: before.body } : { tag: 'absent' };
  const after = evolveApiKey(state, event, id, at);
  if (after.tag === 'absent') return before;
  const { key_hash, account_id, created_at } = after.key;
  return { keys: { key_hash, account_id, created_at }, body: after.key, state: { revision }, expansions: {} };
}
