/** @typedef {{ id: string, title: string }} Seen */

const KEPT_MAX = 50;

/** By resource, the newest first. @type {Map<string, Seen[]>} */
const seen = new Map();
/** @type {(() => void)[]} */
const listeners = [];

/** @param {() => void} listener */
export const onIds = (listener) => listeners.push(listener);

/**
 * @param {string} resource
 * @returns {readonly Seen[]}
 */
export const idsOf = (resource) => seen.get(resource) ?? [];

/**
 * Remembers the resources of an answer, the first of them first.
 * @param {unknown} answer
 */
export function rememberIds(answer) {
  for (const found of resourcesIn(answer).reverse()) {
    if (found.deleted === true) forget(found.object, found.id);
    else remember(found.object, { id: found.id, title: found.title ?? found.name ?? found.id });
  }
  for (const listener of listeners) listener();
}

/**
 * @param {string} resource
 * @param {Seen} one
 */
function remember(resource, one) {
  const others = idsOf(resource).filter(({ id }) => id !== one.id);
  seen.set(resource, [one, ...others].slice(0, KEPT_MAX));
}

/**
 * @param {string} resource
 * @param {string} gone
 */
function forget(resource, gone) {
  seen.set(
    resource,
    idsOf(resource).filter(({ id }) => id !== gone),
  );
}

/**
 * @param {unknown} value
 * @returns {{ object: string, id: string, title?: string, name?: string, deleted?: boolean }[]}
 */
function resourcesIn(value) {
  if (Array.isArray(value)) return value.flatMap(resourcesIn);
  if (typeof value !== 'object' || value === null) return [];
  const { object, id } = /** @type {Record<string, unknown>} */ (value);
  const itself = typeof object === 'string' && typeof id === 'string' ? [/** @type {any} */ (value)] : [];
  return [...itself, ...Object.values(value).flatMap(resourcesIn)];
}
