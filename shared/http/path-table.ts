import { surface } from '../contracts/surface';
import type { Route } from './route';

type Method = Route['method'];

/** A path of `/api` with the methods that it has anywhere and the routes that this process serves. */
export interface PathEntry {
  readonly path: string;
  /** The value of `Allow`: HEAD goes with GET, OPTIONS with everything (decisions §9). */
  readonly allow: string;
  readonly methods: readonly Method[];
  readonly routes: readonly Route[];
}

/** The whole interface's paths below `/api`, and those of `routes` that it does not name. */
export function pathTable(routes: readonly Route[]): PathEntry[] {
  const paths = new Set([...Object.keys(surface), ...routes.map((route) => route.path)]);
  return [...paths]
    .filter((path) => path.startsWith('/api/'))
    .map((path) => {
      const served = routes.filter((route) => route.path === path);
      const methods = [...new Set([...(surface[path] ?? []), ...served.map((route) => route.method)])];
      return { path, methods, routes: served, allow: allowOf(methods) };
    });
}

export function allowOf(methods: readonly Method[]): string {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(
    ', ',
  );
}
