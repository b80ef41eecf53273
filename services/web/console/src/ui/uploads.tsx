import { type DropItem, isFileDropItem } from 'react-aria-components';
import type { Upload } from '../lib/uploads';
import { useTexts } from '../texts/texts';
import { IconButton } from './button';
import { ProgressBar } from './feedback';
import { Icon } from './icon';
import './uploads.css';

/** The files that are on their way, and those that were refused, with the reason. */
export function Uploads({
  uploads,
  onDismiss,
}: {
  readonly uploads: readonly Upload[];
  readonly onDismiss: (id: string) => void;
}) {
  const t = useTexts();
  if (uploads.length === 0) return null;
  return (
    <ul className="list uploads" aria-label={t.media.uploads}>
      {uploads.map(({ id, name, state, fault }) =>
        state === 'refused' ? (
          <li key={id} className="upload-refused">
            <Icon name="warning" />
            <span role="alert">
              <strong dir="auto">{name}</strong> {fault}
            </span>
            <IconButton label={t.common.removeNamed(name)} icon="close" onPress={() => onDismiss(id)} />
          </li>
        ) : (
          <li key={id}>
            <ProgressBar label={`${name} · ${t.media.states[state]}`} />
          </li>
        ),
      )}
    </ul>
  );
}

/** Returns the files that were dropped. */
export const filesOf = (items: readonly DropItem[]): Promise<File[]> =>
  Promise.all(items.filter(isFileDropItem).map((item) => item.getFile()));
