import type { Environment } from '../catalog/realm';
import type { KeyType, Permission } from '../catalog/vocabulary';
import type { AccountId, ApiKeyId, StoreId } from '../kernel/ids';

/** Who asks: what the token says, checked against its key's state. */
export interface Principal {
  readonly api_key_id: ApiKeyId;
  readonly account_id: AccountId;
  readonly key_type: KeyType;
  readonly environment: Environment;
  /** The first is meant where a request names none (decisions §2). */
  readonly stores: readonly StoreId[];
  readonly permissions: readonly Permission[];
}
