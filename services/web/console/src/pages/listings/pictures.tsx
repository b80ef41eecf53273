import { useQuery } from '@tanstack/react-query';
import type { Media } from 'catalog-client';
import {
  Button as AriaButton,
  FileTrigger,
  GridList,
  GridListItem,
  useDragAndDrop,
} from 'react-aria-components';
import { useApi } from '../../lib/api';
import { movedTo } from '../../lib/order';
import { PICTURE_TYPES, useUploads } from '../../lib/uploads';
import { useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { say } from '../../ui/feedback';
import { Icon } from '../../ui/icon';
import { Card } from '../../ui/layout';
import { Thumb } from '../../ui/thumb';
import { filesOf, Uploads } from '../../ui/uploads';

interface ListingPicturesProps {
  readonly ids: readonly string[];
  /** The media that were read with the listing. */
  readonly known: readonly Media[];
  readonly fault: string | undefined;
  readonly onChange: (next: (now: readonly string[]) => readonly string[]) => void;
}

/** The pictures of a listing: dropped or chosen files, ordered by drag. */
export function ListingPictures({ ids, known, fault, onChange }: ListingPicturesProps) {
  const t = useTexts();
  const { client } = useApi();
  const missing = ids.filter((id) => known.find((each) => each.id === id)?.status !== 'ready');
  const { data: added = [], refetch } = useQuery({
    queryKey: ['media', 'of-draft', missing],
    enabled: missing.length > 0,
    queryFn: () => Promise.all(missing.map((id) => client.media.get(id))),
  });
  const { uploads, send, dismiss } = useUploads(({ id }) => onChange((now) => [...now, id]), refetch);
  const { dragAndDropHooks } = useDragAndDrop({
    getItems: (keys) => [...keys].map((key) => ({ 'text/plain': String(key) })),
    acceptedDragTypes: 'all',
    onReorder: ({ keys, target }) => onChange((now) => movedTo(now, [...keys].map(String), target)),
    onInsert: ({ items }) => void filesOf(items).then(send),
    onRootDrop: ({ items }) => void filesOf(items).then(send),
  });
  const remove = (id: string) => {
    const place = ids.indexOf(id);
    onChange((now) => now.filter((each) => each !== id));
    say(t.product.pictureRemoved, () =>
      onChange((now) => (now.includes(id) ? now : now.toSpliced(place, 0, id))),
    );
  };
  return (
    <Card
      title={t.product.pictures}
      actions={
        <FileTrigger
          acceptedFileTypes={PICTURE_TYPES}
          allowsMultiple
          onSelect={(files) => files && send(files)}
        >
          <Button icon="upload">{t.product.addPictures}</Button>
        </FileTrigger>
      }
    >
      <GridList
        aria-label={t.product.pictures}
        layout="grid"
        className="listing-pictures"
        items={ids.map((id, index) => ({ id, index }))}
        dependencies={[known, added]}
        dragAndDropHooks={dragAndDropHooks}
        renderEmptyState={() => (
          <p className="muted listing-pictures-empty">
            <Icon name="media" size={24} />
            {t.product.dropPictures}
          </p>
        )}
      >
        {({ id, index }) => (
          <GridListItem id={id} textValue={t.product.pictureOf(index + 1)} className="listing-picture">
            <AriaButton
              slot="drag"
              className="listing-picture-drag"
              aria-label={t.product.dragPicture(index + 1)}
            >
              <Thumb media={[...added, ...known].find((each) => each.id === id)} size={96} />
            </AriaButton>
            <IconButton
              kind="plain"
              label={t.common.removeNamed(t.product.pictureOf(index + 1))}
              icon="close"
              onPress={() => remove(id)}
            />
          </GridListItem>
        )}
      </GridList>
      <Uploads uploads={uploads} onDismiss={dismiss} />
      {fault && <p className="fault">{fault}</p>}
    </Card>
  );
}
