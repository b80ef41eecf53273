import { EXPORT_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import { requirePermissions } from '../../shared/http/auth';
import { ownAddress } from '../../shared/http/request';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { StreamSlots } from '../../shared/http/stream-slots';
import { parseQuery } from '../../shared/http/validation';
import { longTurn } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import { EXPORT_FORMATS, exportLines } from './export-lines';
import { openStore, type ReadDeps, requestedStore, requireSecretKey, requireStore } from './read';

/** An export counts as a request for this number of publications: as a list of the maximum length. */
const COUNTED_PUBLICATIONS = 50;

/** Returns the slots of the exports of a process. An export has up to 16 MB of publications in memory. */
export const exportSlots = () => new StreamSlots({ what: 'exports', per_key: 2, in_all: 6 });

/** Handles `GET /api/export`. */
export async function readExport(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'An export');
  requirePermissions(request, EXPORT_PERMISSIONS);
  const {
    base_url = ownAddress(request.header),
    format = 'jsonl',
    ...csv
  } = parseQuery(reads.exportStore.query, request.query);
  for (const field of ['bom', 'escape_formulas'] as const)
    if (csv[field] && format === 'jsonl')
      throw CatalogError.ofFaults([
        { condition: 'invalid_query', field, constraint: 'only for formats of CSV' },
      ]);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  await requireStore(version, store_id);
  const { view } = deps[request.principal.environment];
  const lines = exportLines({ view, store_id, base_url }, { format, ...csv });
  if (request.method !== 'HEAD') {
    const where = { store_id, visibility: { in: visibilitySchema.options } };
    const publications = await version.count('publications', where);
    await request.admitItems?.(Math.ceil(publications / COUNTED_PUBLICATIONS));
  }
  const { content_type, file } = EXPORT_FORMATS[format];
  const headers = { 'Content-Disposition': `attachment; filename="${file}"`, 'Content-Type': content_type };
  return { data: null, reply: { status: 200, headers, body: encoded(lines) } };
}

async function* encoded(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) {
    const turn = longTurn();
    if (turn) await turn;
    yield Buffer.from(line);
  }
}
