import { useSyncExternalStore } from 'react';

/* Values that this browser keeps: settings, saved views, and changes that are not saved yet. */

const PREFIX = 'catalog-console:';
const listeners = new Set<() => void>();
const parsed = new Map<string, { readonly text: string | null; readonly value: unknown }>();

/** Returns the value, undefined if there is none. Returns the same object until it is written again. */
export function readStored<Value>(key: string): Value | undefined {
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

/** Writes a value; undefined removes it. Does nothing if the browser's storage is full. */
export function writeStored(key: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    return;
  }
  for (const listener of listeners) listener();
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
