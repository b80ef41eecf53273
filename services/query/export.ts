import { EXPORT_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import { ownAddress } from '../../shared/http/request';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { EXPORT_FORMATS, exportLines } from './export-lines';
import {
  assertActive,
  openStore,
  type ReadDeps,
  requestedStore,
  requirePermissions,
  requireSecretKey,
} from './read';

/** Handles `GET /api/export`. */
export async function readExport(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'An export');
  requirePermissions(request, EXPORT_PERMISSIONS);
  const { base_url = ownAddress(request.header), format = 'jsonl' } = parseQuery(
    reads.exportStore.query,
    request.query,
  );
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  assertActive(await version.get('stores', store_id));
  const lines = exportLines({ view: deps[request.principal.environment].view, store_id, base_url }, format);
  const { content_type } = EXPORT_FORMATS[format];
  return { data: null, stream: { content_type, bytes: encoded(lines) } };
}

async function* encoded(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line);
}
