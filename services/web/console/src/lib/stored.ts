import { useSyncExternalStore } from 'react';

/* Values that this browser keeps: settings, saved views, and changes that are not saved yet. */

const PREFIX = 'catalog-console:';
const listeners = new Set<() => void>();
const parsed = new Map<string, { readonly text: string | null; readonly value: unknown }>();
/** Values for which the browser has no room. They last as long as the page. */
const unstored = new Map<string, unknown>();

/** Returns the value, undefined if there is none. Returns the same object until it is written again. */
export function readStored<Value>(key: string): Value | undefined {
  if (unstored.has(key)) return unstored.get(key) as Value;
  const text = localStorage.getItem(PREFIX + key);
  const known = parsed.get(key);
  if (known?.text === text) return known.value as Value | undefined;
  const value = parse(text);
  parsed.set(key, { text, value });
  return value as Value | undefined;
}

function parse(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Writes a value; undefined removes it. Keeps the value in memory if the browser's storage is full. With `isDrawn` false, the
 * page shows the value only after the next write that is drawn.
 */
export function writeStored(key: string, value: unknown, isDrawn = true): void {
  unstored.delete(key);
  const text = value === undefined ? null : JSON.stringify(value);
  parsed.set(key, { text, value });
  try {
    if (text === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, text);
  } catch {
    unstored.set(key, value);
  }
  if (isDrawn) for (const listener of [...listeners]) listener();
}

/** Returns the keys of stored values that begin with `start`. */
export const storedKeys = (start: string): string[] =>
  Object.keys(localStorage)
    .filter((key) => key.startsWith(PREFIX + start))
    .map((key) => key.slice(PREFIX.length));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

/** A stored value as a state. Other windows see a change at once. */
export function useStored<Value>(
  key: string,
  initial: Value,
): readonly [Value, (value: Value | undefined) => void] {
  const value = useSyncExternalStore(subscribe, () => readStored<Value>(key)) ?? initial;
  return [value, (next) => writeStored(key, next)];
}
