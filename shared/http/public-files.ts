import type { Express, Request, Response } from 'express';
import { CatalogError } from '../kernel/errors';
import { endWith } from './compress';
import { contextOf } from './context';
import { etagOf, matchesNone } from './etag';
import { allowOf } from './path-table';

/** A text that is the same for everybody, token or not. */
export interface PublicFile {
  readonly path: string;
  readonly content_type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Long enough to spare the repeated reads of one visit, short enough that a new release is seen soon. */
const CACHE_CONTROL = 'public, max-age=300';

/** Serves the files with ETag and 304; they are made at the first request for one. */
export function addPublicFiles(
  app: Express,
  paths: readonly string[],
  files: () => readonly PublicFile[],
): void {
  let tagged: ReadonlyMap<string, PublicFile & { readonly etag: string }> | undefined;
  const find = (path: string) => {
    tagged ??= new Map(files().map((file) => [file.path, { ...file, etag: etagOf(undefined, file.body) }]));
    const file = tagged.get(path);
    if (file === undefined) throw new CatalogError('path_not_found');
    return file;
  };
  for (const path of paths) {
    app.get(path, (req, res) => {
      contextOf(res).route = path;
      send(req, res, find(path));
    });
    app.all(path, (req, res) => {
      res.setHeader('Allow', allowOf(['GET']));
      if (req.method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
      res.status(204).end();
    });
  }
}

function send(req: Request, res: Response, file: PublicFile & { readonly etag: string }): void {
  const { content_type, body, etag, headers = {} } = file;
  const told = { 'Cache-Control': CACHE_CONTROL, ETag: etag, ...headers };
  for (const [name, value] of Object.entries(told)) res.setHeader(name, value);
  if (matchesNone(req.get('if-none-match'), etag)) {
    res.status(304).end();
    return;
  }
  res.setHeader('Content-Type', content_type);
  endWith(res, body);
}
