import type { MediaDeps } from '../../services/command/request';
import type { Pictures } from '../../shared/http/route';
import type { BlobStore } from '../../shared/ports/blob-store';

/** For tests without uploads: every call fails. */
const nothing = new Proxy({} as BlobStore, {
  get: (_target, name) => {
    throw new Error(`no media here: ${String(name)}`);
  },
});

export const noPictures: Pictures = { live: nothing, test: nothing };

export const noMedia: MediaDeps = {
  blobs: { live: { originals: nothing }, test: { originals: nothing } },
  mediaTasks: { add: () => Promise.reject(new Error('no media here')) },
};
