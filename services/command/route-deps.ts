import type { Environment } from '../../shared/catalog/realm';
import type { BlobStore } from '../../shared/ports/blob-store';
import type { MediaTasks } from '../../shared/ports/media-tasks';
import type { ActiveStores } from './active-stores';
import type { StoreDeps } from './context';
import type { SettleDeps } from './settle';

/** Where uploads are kept, and who is told of them. */
export interface MediaDeps {
  readonly blobs: Readonly<Record<Environment, { readonly originals: BlobStore }>>;
  readonly mediaTasks: Pick<MediaTasks, 'add'>;
}

/** What the handlers of writes work with. */
export interface RouteDeps extends StoreDeps, SettleDeps, MediaDeps {
  readonly stores: ActiveStores;
}
