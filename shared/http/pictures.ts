import type { Express, Response } from 'express';
import { service } from '../api/operations/service';
import { typeOfExtension } from '../catalog/media/media-address';
import { ENVIRONMENTS, type Environment } from '../catalog/realm';
import { CatalogError } from '../kernel/errors';
import type { BlobStore } from '../ports/blob-store';
import { contextOf } from './context';
import { allowOf } from './path-table';
import { PictureTypes } from './picture-types';
import { type FileAnswer, sendFile } from './send-file';

/** What anybody may load, by environment. */
export type Pictures = Readonly<Record<Environment, Pick<BlobStore, 'size' | 'read'>>>;

/**
 * The address is the content's, so it never changes; and should a browser take the bytes for anything but a picture,
 * it may do nothing with it.
 */
const HEADERS = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** Pictures by their content's hash, without a token: what an `<img>` loads (decisions §6). */
export function addPictures(app: Express, pictures: Pictures): void {
  const { path } = service.getPicture;
  const types = new PictureTypes();
  app.get(path, async (req, res) => {
    name(res, path);
    const file = pictureOf(pictures, String(req.params.environment), String(req.params.file));
    // An address of another extension would show the same bytes as what they are not.
    if ((await types.of(file.blobs, file.hash)) !== file.content_type)
      throw new CatalogError('path_not_found');
    await sendFile(req, res, file);
  });
  app.all(path, (req, res) => {
    name(res, path);
    res.setHeader('Allow', allowOf(['GET']));
    if (req.method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
    res.status(204).end();
  });
}

function pictureOf(pictures: Pictures, environment: string, file: string): FileAnswer {
  const [, hash, extension = ''] = /^([0-9a-f]{64})\.([a-z]+)$/.exec(file) ?? [];
  const content_type = typeOfExtension(extension);
  const known = ENVIRONMENTS.find((one) => one === environment);
  if (hash === undefined || content_type === undefined || known === undefined)
    throw new CatalogError('path_not_found');
  return { blobs: pictures[known], hash, content_type, missing: 'path_not_found', headers: HEADERS };
}

function name(res: Response, path: string): void {
  contextOf(res).route = path;
}
