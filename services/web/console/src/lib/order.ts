import type { DroppableCollectionReorderEvent } from 'react-aria-components';

/** Returns the list with some of its ids moved before or after another one. They keep their order in the list. */
export function movedTo(
  ids: readonly string[],
  moved: readonly string[],
  { key, dropPosition }: Pick<DroppableCollectionReorderEvent['target'], 'key' | 'dropPosition'>,
): string[] {
  const others = ids.filter((id) => !moved.includes(id));
  const place = others.indexOf(String(key)) + (dropPosition === 'after' ? 1 : 0);
  const kept = ids.filter((id) => moved.includes(id));
  return others.toSpliced(place, 0, ...kept);
}
