import type { Environment } from '../../shared/catalog/realm';
import type { StoreId } from '../../shared/kernel/ids';

export interface ImportTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
}

/** What is of another store is absent. */
export type Presence = 'absent' | 'present' | 'deleted';
