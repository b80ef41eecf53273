import type { Environment } from '../../shared/catalog/realm';
import type { BlobArea, BlobHash, BlobStore } from '../../shared/ports/blob-store';
import type { ActiveView } from '../../shared/ports/document-reader';

/** A file that a media names but the blob store does not have. */
export interface MissingFile {
  readonly environment: Environment;
  readonly area: BlobArea;
  readonly hash: BlobHash;
  readonly media_id: string;
}

interface Parts {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
}

const PAGE_SIZE = 500;

/** Looks for the files of all media of an environment. Returns those that are not stored. */
export async function findMissingFiles(
  { views, blobs }: Parts,
  environment: Environment,
): Promise<MissingFile[]> {
  const missing: MissingFile[] = [];
  const view = await views[environment].current();
  for (let after_id: string | undefined; view; ) {
    const page = await view.scan('media', { ...(after_id && { after_id }), limit: PAGE_SIZE });
    for (const { id: media_id, document } of page) {
      if (!document) continue;
      const { hash, progress } = document.state.media;
      const files: { area: BlobArea; hash: BlobHash }[] = [{ area: 'originals', hash }];
      if (progress.status === 'ready')
        for (const { hash } of [progress.pictures.picture, ...progress.pictures.variants])
          files.push({ area: 'pictures', hash });
      for (const { area, hash } of files)
        if ((await blobs[environment][area].size(hash)) === undefined)
          missing.push({ environment, area, hash, media_id });
    }
    if (page.length < PAGE_SIZE) break;
    after_id = page.at(-1)!.id;
  }
  return missing;
}
