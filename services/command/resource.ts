import type { Changes, Fields, Input } from '../../shared/catalog/fields';
import { type Content, ResourceCommands } from './resource-commands';
import { ResourceRoutes, type RoutesDefinition, type ShownResource } from './resource-routes';

/**
 * Defines the writes of a resource with declared fields, a visibility and media (docs/howto/add-an-endpoint.md#an-aggregate): its
 * commands (`resource-commands.ts`), its names (`resource-names.ts`), and the routes of POST, PATCH, PUT and DELETE
 * (`resource-routes.ts`).
 */
export function defineResource<
  F extends Fields,
  Resource extends ShownResource,
  New extends Input<F> & Content,
  Patch extends Changes<F> & Content,
  Counts,
>(definition: RoutesDefinition<F, Resource, New, Patch, Counts>) {
  const commands = new ResourceCommands<F, Resource, New, Patch>(definition);
  const { create, update, put, remove, addMedia, find, names } = commands;
  const { routes, answerAfter } = new ResourceRoutes(definition, commands);
  return { create, update, put, remove, addMedia, find, names, routes, answerAfter };
}
