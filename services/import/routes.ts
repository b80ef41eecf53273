import { IMPORT_PERMISSIONS, reads } from '../../shared/api/operations/reads';
import { writes } from '../../shared/api/operations/writes';
import {
  IMPORT_BYTES_MAX,
  importSettingsBody,
  storedImport,
  writeQuerySchema,
} from '../../shared/api/requests/writes';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { ImportStep } from '../../shared/catalog/vocabulary';
import { requirePermissions, storeOf } from '../../shared/http/auth';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import type { Upload } from '../../shared/http/upload';
import { pageMeta, parseBody, parseQuery } from '../../shared/http/validation';
import { CatalogError, invalidField } from '../../shared/kernel/errors';
import type { StoreDeps } from '../command/execute';
import type { ProposedImport } from '../command/proposals';
import { ActiveStores, storeForNew } from '../command/request';
import { requestedStore } from '../query/read';
import { knownColumnsOf } from './format';
import {
  type ImportJob,
  type ImportJobs,
  type ImportOwner,
  type ImportSettings,
  settingsOf,
  type UploadedFile,
} from './jobs';

/** Returns the routes of imports (docs/interface/imports.md): those that read, and those that write. */
export function importRoutes(
  deps: StoreDeps,
  jobs: ImportJobs,
): {
  readonly reads: Route[];
  readonly writes: Route[];
  readonly proposedImport: ProposedImport;
} {
  const stores = new ActiveStores(deps);

  /** Returns the import of the path. Throws `import_not_found` unless one of the request's stores has it. */
  const find = async (request: ApiRequest): Promise<{ owner: ImportOwner; job: ImportJob }> => {
    requirePermissions(request, IMPORT_PERMISSIONS);
    const { principal, params } = request;
    const { store_id } = parseQuery(writeQuerySchema, request.query);
    for (const id of store_id === undefined ? principal.stores : [storeOf(principal, store_id)]) {
      const job = await jobs.get(id, params.id!);
      if (!job) continue;
      await stores.require(principal.environment, id);
      return { owner: { ...principal, store_id: id, run: request.run }, job };
    }
    throw new CatalogError('import_not_found');
  };

  const create: Route['handler'] = async (request) => {
    const { principal, body, operation } = request;
    const { file: _, store_id: sent_store_id, overwrite, columns, ...fields } = parseBody(storedImport, body);
    const store_id = storeForNew(request, sent_store_id);
    await stores.require(principal.environment, store_id);
    const sent = {
      ...fields,
      ...(overwrite !== undefined && { overwrite: overwrite === 'true' }),
      ...(columns !== undefined && { columns: parseColumns(columns) }),
    };
    const settings = { overwrite: false, images: 'public', ...sentSettings(sent) } as const;
    const file = body.file as UploadedFile;
    // A write that is repeated after a crash finds the import by the id of its operation.
    const job = await jobs.create({ ...principal, store_id }, file, settings, operation?.id);
    return accepted(job, { Location: `/api/import/${job.run}` });
  };

  const list: Route['handler'] = async (request) => {
    requirePermissions(request, IMPORT_PERMISSIONS);
    const { page, limit } = parseQuery(reads.listImports.query, request.query);
    const store_id = requestedStore(request);
    await stores.require(request.principal.environment, store_id);
    const all = await jobs.list(store_id);
    const shown = all.slice((page - 1) * limit, page * limit);
    const data = shown.map(({ detected: _, ...job }) => importResource(job));
    return { data, meta: pageMeta({ page, limit, total: all.length }) };
  };

  const get: Route['handler'] = async (request) => ({ data: importResource((await find(request)).job) });

  const listRows: Route['handler'] = async (request) => {
    const { owner, job } = await find(request);
    const { page, limit, outcome } = parseQuery(reads.listImportRows.query, request.query);
    const place = { outcome, skip: (page - 1) * limit, limit };
    const { rows, total } = await jobs.rows(owner.store_id, job, place);
    return { data: rows, meta: pageMeta({ page, limit, total }) };
  };

  const stepOf =
    (step: ImportStep): Route['handler'] =>
    async (request) => {
      const { owner, job } = await find(request);
      // The body of a proposal has the settings that the import had.
      const settings = step === 'preview' ? sentSettings(request.body) : { proposed: request.body.settings };
      return accepted(await jobs.startStep(owner, job.run, step, settings));
    };

  const remove: Route['handler'] = async (request) => {
    const { owner, job } = await find(request);
    await jobs.delete(owner, job.run);
    return { data: { id: job.run, object: 'import', deleted: true } };
  };

  const upload: Upload = {
    types: ['multipart/form-data'],
    bytes_max: IMPORT_BYTES_MAX,
    keep: async (principal, bytes, file_name) => {
      // Before the file is received.
      requirePermissions({ principal }, IMPORT_PERMISSIONS);
      return jobs.receive(bytes, file_name);
    },
    discard: (file) => jobs.discard(file as unknown as UploadedFile),
  };
  return {
    proposedImport: async (request) => {
      const { owner, job } = await find(request);
      return { store_id: owner.store_id, body: { settings: settingsOf(job) } };
    },
    reads: [
      routeOf(reads.listImports, list),
      routeOf(reads.getImport, get),
      routeOf(reads.listImportRows, listRows),
    ],
    writes: [
      routeOf(writes.createImport, create, { upload }),
      routeOf(writes.previewImport, stepOf('preview')),
      routeOf(writes.startImport, stepOf('import')),
      routeOf(writes.undoImport, stepOf('undo')),
      routeOf(writes.deleteImport, remove),
    ],
  };
}

const accepted = (job: ImportJob, headers: Record<string, string> = {}): Answer => ({
  status: 202,
  data: importResource(job),
  headers,
});

/** Parses the text of the field `columns` of a form. Throws `field_invalid`. */
function parseColumns(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw CatalogError.ofFaults([invalidField('columns', 'the JSON text of an object')]);
  }
}

/** Returns the settings that a request changes. Null becomes undefined: the default. Throws for invalid ones. */
function sentSettings(sent: object): Partial<ImportSettings> {
  const settings = Object.entries(parseBody(importSettingsBody, sent));
  return Object.fromEntries(settings.map(([name, value]) => [name, value ?? undefined]));
}

function importResource(job: ImportJob): JsonObject {
  const { run, file, created_at, step, status, was_imported, done, total, error, report, undone } = job;
  const { detected, listed } = job;
  const resource = {
    ...{ id: run, object: 'import', file, created_at, step, status, was_imported },
    progress: { done, total },
    ...(error !== undefined && { error }),
    settings: settingsOf(job),
    ...(detected && { detected, known_columns: knownColumnsOf(detected) }),
    ...(report && { report: { ...report, rows: { ...NO_ROWS, ...listed } } }),
    ...(undone && { undone }),
  };
  return resource as unknown as JsonObject;
}

const NO_ROWS = { created: 0, updated: 0, failed: 0, warning: 0, kept: 0 };
