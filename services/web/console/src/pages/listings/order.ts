import type { DroppableCollectionReorderEvent } from 'react-aria-components';

/** Returns the list with some of its ids moved before or after another one. */
export function movedTo(
  ids: readonly string[],
  moved: readonly string[],
  { key, dropPosition }: DroppableCollectionReorderEvent['target'],
): string[] {
  const others = ids.filter((id) => !moved.includes(id));
  const place = others.indexOf(String(key)) + (dropPosition === 'after' ? 1 : 0);
  return others.toSpliced(place, 0, ...moved);
}
