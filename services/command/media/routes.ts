import { writes } from '../../../shared/api/operations/writes';
import { keptUpload, UPLOAD_BYTES_MAX, uploadQuerySchema } from '../../../shared/api/requests/writes';
import { greatest } from '../../../shared/catalog/events/positions';
import { mediaResource } from '../../../shared/catalog/media/media';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../../shared/http/route';
import { parseBody, parseQuery } from '../../../shared/http/validation';
import type { MediaId } from '../../../shared/kernel/ids';
import type { MediaTask } from '../../../shared/ports/media-tasks';
import { contextOf, guardFor, storeNamedForNew } from '../request';
import type { RouteDeps } from '../route-deps';
import { settle } from '../settle';
import { attach, checkAttachments } from './attach';
import { Inspector, keepOriginal } from './originals';
import { deleteMedia, uploadMedia } from './service';

export function mediaRoutes(deps: RouteDeps): Route[] {
  const inspector = new Inspector();
  return [
    routeOf(writes.uploadMedia, (request) => upload(deps, inspector, request), {
      bytes_max: UPLOAD_BYTES_MAX,
      keep: ({ environment }, bytes) => keepOriginal(deps.blobs[environment].originals, bytes),
    }),
    routeOf(writes.deleteMedia, (request) => remove(deps, request)),
  ];
}

/** The bytes are kept already: `body.file` names them. */
async function upload(deps: RouteDeps, inspector: Inspector, request: ApiRequest): Promise<Answer> {
  const context = contextOf(request);
  const query = parseQuery(uploadQuerySchema, request.query);
  const { file, ...form } = parseBody(keptUpload, request.body);
  const { alt, ...attachments } = { ...query, ...form };
  const store_id = storeNamedForNew(request, form.store_id);
  const { environment } = request.principal;
  const { mime_type, width, height } = await inspector.inspect(deps.blobs[environment].originals, file.hash);
  const guard = async (): Promise<void> => {
    await deps.stores.require(environment, store_id);
    await checkAttachments(deps, environment, store_id, attachments);
  };
  const image = { hash: file.hash, mime_type, size_bytes: file.size_bytes, width, height };
  const target = { environment, store_id, guard };
  const uploaded = await uploadMedia(deps, context, target, { ...image, alt: alt ?? null });
  const { value } = uploaded;
  addTask(deps, { environment, media_id: value.id });
  const written = [uploaded, ...(await attach(deps, context, environment, value.id, attachments))];
  const position = greatest(written.map(({ position }) => position));
  const headers = await settle(deps, request, store_id, position, uploaded.repeated);
  return {
    status: 201,
    data: mediaResource(value, environment),
    version: value.version,
    headers: { ...headers, Location: `/api/media/${value.id}` },
  };
}

/** A task that is lost here is found again: whoever makes pictures looks for what is still `processing`. */
function addTask(deps: RouteDeps, task: MediaTask): void {
  deps.mediaTasks.add(task).catch((error: unknown) => {
    deps.log.warn({ err: error, media_id: task.media_id }, 'the task of an upload could not be added yet');
  });
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const id = request.params.id as MediaId;
  const guard = guardFor(request, deps.stores, 'media_not_found');
  const target = { environment: request.principal.environment, id, guard };
  const { value: store_id, position, repeated } = await deleteMedia(deps, contextOf(request), target);
  const headers = await settle(deps, request, store_id, position, repeated);
  return { data: { id, object: 'media', deleted: true }, headers };
}
