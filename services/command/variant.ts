import { writes } from '../../shared/api/operations/writes';
import { newVariantBody, variantPatchBody } from '../../shared/api/requests/writes';
import type { State } from '../../shared/catalog/events/aggregate';
import { shownVariants } from '../../shared/catalog/publication/price-history';
import {
  type Publication,
  type PublicationCommand,
  publicationAggregate,
} from '../../shared/catalog/publication/publication';
import {
  possibleOwners,
  type Variant,
  type VariantChanges,
  variantResource,
} from '../../shared/catalog/publication/variants';
import type { Environment } from '../../shared/catalog/realm';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { PublicationId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { execute, type Prepared, type Written, withResource } from './execute';
import { prepareNames } from './names';
import { checkCurrencies, existingMedia } from './references';
import { answerTo, awaitProjection, guardFor, type RouteDeps, writeContextOf } from './request';
import { variantNames } from './variant-names';

/** Returns the routes of the writes of single variants, which are parts of publications. */
export function variantRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.createVariant, async (request) => {
      const variant = parseBody(newVariantBody, request.body);
      const id = request.params.id as PublicationId;
      const written = await write(deps, request, id, 'publication_not_found', {
        type: 'AddVariant',
        variant,
      });
      // No other variant has its values. Also found if an earlier run of the request has added it.
      const { option_values = {} } = variant;
      return answerWith(
        deps,
        request,
        written,
        (each) => isSameValue(each.option_values, option_values),
        `/api/publication/${id}/variants`,
      );
    }),
    routeOf(writes.updateVariant, async (request) => {
      const { quantity_available: sent, ...fields } = parseBody(variantPatchBody, request.body);
      const variant_id = request.params.id!;
      const stock =
        typeof sent === 'object' && sent !== null
          ? { changes: fields, adjust: sent.adjust }
          : { changes: { ...fields, quantity_available: sent } };
      const written = await writeVariant(deps, request, { type: 'ChangeVariant', variant_id, ...stock });
      return answerWith(deps, request, written, ({ id }) => id === variant_id);
    }),
    routeOf(writes.deleteVariant, async (request) => {
      const variant_id = request.params.id!;
      const written = await writeVariant(deps, request, { type: 'RemoveVariant', variant_id });
      const headers = await awaitProjection(deps, request, written.value.store_id, written);
      return { data: { id: variant_id, object: 'variant', deleted: true }, headers };
    }),
  ];
}

/** Executes a command on the variant that the path names. */
async function writeVariant(
  deps: RouteDeps,
  request: ApiRequest,
  command: PublicationCommand & { readonly variant_id: string },
): Promise<Written<Publication>> {
  const id = await publicationOf(deps, request.principal.environment, command.variant_id);
  return write(deps, request, id, 'variant_not_found', command);
}

async function write(
  deps: RouteDeps,
  request: ApiRequest,
  id: PublicationId,
  not_found: Condition,
  command: PublicationCommand,
): Promise<Written<Publication>> {
  const guard = guardFor(request, deps.stores, not_found);
  const { environment } = request.principal;
  const context = writeContextOf(request);
  const taker = { deps, environment, aggregate: publicationAggregate, id };
  const prepare = async (state: State<Publication>): Promise<Prepared<PublicationCommand>> => {
    if (state.tag !== 'present') return { command };
    const { resource } = state;
    await guard(resource);
    const sent = sentTo(resource, command);
    await checkCurrencies(deps, environment, resource.store_id, { variants: sent }, resource);
    const names = variantNames(resource.store_id, sent, resource, () => '');
    return prepareNames(taker, context, names, () => command);
  };
  const ref = streamIn(deps, environment, publicationAggregate, id);
  return withResource(await execute<Publication, PublicationCommand>({ ...ref, context, prepare }));
}

/** Returns the values that the command gives to a variant of the publication. */
function sentTo({ variants }: Publication, command: PublicationCommand): readonly VariantChanges[] {
  if (command.type === 'AddVariant') return [command.variant];
  const is_found = command.type === 'ChangeVariant' && variants.some(({ id }) => id === command.variant_id);
  return is_found ? [command.changes] : [];
}

/**
 * Returns the publication of a variant. Their ids begin with the same digits. Throws `variant_not_found` if no projected
 * publication has them.
 */
async function publicationOf(
  deps: RouteDeps,
  environment: Environment,
  variant_id: string,
): Promise<PublicationId> {
  const current = await deps.views[environment].current();
  if (!current) throw new CatalogError('unavailable');
  const version = current.upToDate ?? current;
  const found = await possibleOwners(variant_id, (range) => version.scan('publications', range));
  const ids = found.map(({ id }) => id as PublicationId);
  for (const id of ids) {
    if (ids.length === 1) return id;
    const publication = await findInLog(deps, environment, publicationAggregate, id);
    if (publication?.variants.some((variant) => variant.id === variant_id)) return id;
  }
  throw new CatalogError('variant_not_found');
}

/** Returns the answer with the variant after the write. Its version is that of the publication. */
function answerWith(
  deps: RouteDeps,
  request: ApiRequest,
  written: Written<Publication>,
  isWritten: (variant: Variant) => boolean,
  location?: string,
): Promise<Answer> {
  const { id, media_ids } = written.value;
  const variant = shownVariants(written.value).find(isWritten);
  if (!variant) throw new CatalogError('variant_not_found');
  const pictures = media_ids.filter((media_id) => media_id === variant.media_id);
  const { environment } = request.principal;
  const dataOf = async () => variantResource(variant, id, await existingMedia(deps, environment, pictures));
  return answerTo(deps, request, written, dataOf, location);
}
