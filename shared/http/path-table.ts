import { surface } from '../api/surface';
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

/** The entry that a path belongs to, and what stands in it for the entry's `:parameters`. */
export interface FoundPath<Entry> {
  readonly entry: Entry;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Finds the first entry whose path a request's path is, segment by segment: a parameter stands for any one that is not
 * empty. Throws `URIError` for a parameter that is not validly percent-encoded.
 */
export function pathFinder<Entry extends { readonly path: string }>(
  entries: readonly Entry[],
): (path: string) => FoundPath<Entry> | undefined {
  const split = entries.map((entry) => ({ entry, segments: entry.path.split('/') }));
  return (path) => {
    const given = path.split('/');
    const found = split.find(
      ({ segments }) =>
        segments.length === given.length &&
        segments.every(
          (segment, index) => segment === given[index] || (isParameter(segment) && given[index] !== ''),
        ),
    );
    return found && { entry: found.entry, params: parametersIn(found.segments, given) };
  };
}

const isParameter = (segment: string): boolean => segment.startsWith(':');

function parametersIn(segments: readonly string[], given: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  segments.forEach((segment, index) => {
    if (isParameter(segment)) params[segment.slice(1)] = decodeURIComponent(given[index]!);
  });
  return params;
}

export function allowOf(methods: readonly Method[]): string {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(
    ', ',
  );
}
