import type { HttpRequest } from '../../../shared/http/request';
import type { PublicAnswer, PublicRoute } from '../../../shared/http/route';
import type { ImportJobs } from '../../import/jobs';
import { htmlAnswer } from '../html';
import { exportCatalog } from './export';
import { HEADERS, isOwnForm, redirect, STYLE_ROUTE } from './frame';
import { importPages } from './imports';
import { type KeyDeps, keyPages } from './keys';
import * as listings from './listings';
import { ORDER_SCRIPT } from './order';
import { addPictures, arrangePictures } from './pictures';
import * as product from './product';
import { bulkPage, productsPage } from './products';
import * as reviews from './reviews';
import * as store from './store';
import {
  HOME,
  type Page,
  type SessionDeps,
  type SignInDeps,
  signIn,
  signOut,
  unlessInvalid,
  visit,
} from './visit';
import * as webhooks from './webhooks';

export interface ConsoleDeps extends SignInDeps {
  /** Returns the address of the service, undefined while the console is off. */
  readonly connect: () => string | undefined;
  readonly authenticate: SessionDeps['authenticate'];
  readonly imports: ImportJobs;
  readonly keys: KeyDeps;
}

/**
 * Builds the pages for merchants. They read and write through the interface with the merchant's own key, so all of its
 * rules hold here, too. Imports and keys, which the interface does not have, call the services with what the key may do.
 *
 * A sign-in exchanges the key for a token and begins a session with it: a cookie that only this site gets. The key itself
 * is not kept. A form of another site has no cookie (`SameSite`), and is refused by its origin.
 */
export function consoleRoutes(deps: ConsoleDeps): PublicRoute[] {
  const { connect, imports, keys } = deps;
  const at = (
    path: string,
    serve: (req: HttpRequest, base_url: string, id: string) => Promise<PublicAnswer>,
  ): PublicRoute => ({
    path,
    takes_forms: true,
    serve: async (req, { id = '' }) => {
      const base_url = connect();
      return base_url === undefined ? htmlAnswer('', 404, HEADERS) : serve(req, base_url, id);
    },
  });
  const route = (path: string, get: Page | undefined, post?: Page): PublicRoute =>
    at(path, async (req, base_url, id) => {
      const page = req.method === 'POST' ? post : get;
      return page ? visit(req, { ...deps, base_url }, id, page) : redirect(HOME);
    });
  const open = (path: string, serve: typeof signIn): PublicRoute =>
    at(path, async (req) => (req.method === 'POST' && isOwnForm(req) ? serve(req, deps) : redirect(HOME)));
  const of_imports = importPages(imports);
  const of_keys = keyPages(keys);
  return [
    STYLE_ROUTE,
    ORDER_SCRIPT,
    open('/console/sign-in', signIn),
    open('/console/sign-out', signOut),
    route('/console', async () => ({ location: HOME })),
    route(HOME, productsPage),
    route('/console/bulk', undefined, bulkPage),
    route('/console/product/new', product.editorPage, product.create),
    route('/console/product/:id', product.editorPage, product.save),
    route('/console/product/:id/revert', undefined, product.revert),
    route('/console/product/:id/pictures', undefined, unlessInvalid(product.editorPage, arrangePictures)),
    route('/console/product/:id/upload', undefined, unlessInvalid(product.editorPage, addPictures)),
    route('/console/product/:id/delete', undefined, product.remove),
    route('/console/product/:id/restore', undefined, product.restore),
    route('/console/listings', listings.listPage, listings.create),
    route('/console/listing/:id', listings.listingPage, listings.save),
    route('/console/listing/:id/featured', undefined, listings.arrange),
    route('/console/listing/:id/delete', undefined, listings.remove),
    route('/console/listing/:id/restore', undefined, listings.restore),
    route('/console/imports', of_imports.list, of_imports.upload),
    route('/console/import/:id', of_imports.show, of_imports.startStep),
    route('/console/export', exportCatalog),
    route('/console/keys', of_keys.list, of_keys.create),
    route('/console/key/:id', undefined, of_keys.change),
    route('/console/reviews', reviews.list),
    route('/console/review/:id', undefined, reviews.moderate),
    route('/console/webhooks', webhooks.list, webhooks.create),
    route('/console/webhook/:id', undefined, webhooks.change),
    route('/console/store', store.page, store.save),
  ];
}
