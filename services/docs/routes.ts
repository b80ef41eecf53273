import { openApiDocument } from '../../shared/api/openapi/document';
import { etagOf, sendNotModified, sendText } from '../../shared/http/respond';
import type { PublicRoute } from '../../shared/http/route';
import { DOCS_PATHS, docsFiles, type PublicFile } from './page/files';

/** Long enough to save the repeated reads of one visit, short enough that a new release is seen soon. */
const CACHE_CONTROL = 'public, max-age=300';

/**
 * Serves `/openapi.json` and `/docs`. Every process describes the whole interface: behind a gateway it does not matter
 * which one is asked.
 */
export function docsRoutes(): PublicRoute[] {
  // Made on the first request for one of them.
  let tagged: ReadonlyMap<string, PublicFile & { readonly etag: string }> | undefined;
  const find = (path: string) => {
    tagged ??= new Map(
      publicFiles().map((file) => [file.path, { ...file, etag: etagOf(undefined, file.body) }]),
    );
    return tagged.get(path)!;
  };
  return ['/openapi.json', ...DOCS_PATHS].map((path) => ({
    path,
    serve: (req, res) => {
      const { content_type, body, etag, headers } = find(path);
      const sent = { 'Cache-Control': CACHE_CONTROL, ETag: etag, ...headers };
      if (sendNotModified(req, res, sent)) return;
      res.set(sent);
      sendText(res, body, content_type);
    },
  }));
}

const publicFiles = (): PublicFile[] => [
  {
    path: '/openapi.json',
    content_type: 'application/json; charset=utf-8',
    body: JSON.stringify(openApiDocument()),
  },
  ...docsFiles(),
];
