import { useQueries } from '@tanstack/react-query';
import type { Media } from 'catalog-client';
import { useState } from 'react';
import {
  Button as AriaButton,
  FileTrigger,
  GridList,
  GridListItem,
  useDragAndDrop,
} from 'react-aria-components';
import { useApi } from '../../lib/api';
import { movedTo } from '../../lib/order';
import { PICTURE_TYPES, type Upload } from '../../lib/uploads';
import { useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Badge, say } from '../../ui/feedback';
import { TextField } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { Card } from '../../ui/layout';
import { Dialog, Menu } from '../../ui/overlay';
import { focusOf } from '../../ui/thumb';
import { filesOf, Uploads } from '../../ui/uploads';
import { useEditing } from './editing';

const PICTURES_MAX = 50;

/** The smallest picture of a media that is at least as wide as a tile. */
export const thumbOf = (media: Media | undefined): string | undefined =>
  media?.variants.find(({ name }) => name === 'small')?.url ?? media?.url ?? media?.placeholder;

/** Returns the media of the product that are known, by id. Reads those that were uploaded and are not saved with it yet. */
export function usePictures(ids: readonly string[], known: readonly Media[]): ReadonlyMap<string, Media> {
  const { client } = useApi();
  const of_product = new Map(known.map((media) => [media.id, media]));
  const waiting = ids.filter((id) => of_product.get(id)?.status !== 'ready');
  const answers = useQueries({
    queries: waiting.map((id) => ({
      queryKey: ['media', id],
      queryFn: () => client.media.get(id),
      // Until its sizes are made.
      refetchInterval: ({ state }: { state: { data?: Media | undefined } }) =>
        state.data?.status === 'processing' ? 1_000 : (false as const),
    })),
  });
  for (const { data } of answers) if (data) of_product.set(data.id, data);
  return of_product;
}

/** How many pictures can be added. */
export const roomFor = (media_ids: readonly string[], uploads: readonly Upload[]): number =>
  PICTURES_MAX -
  media_ids.length -
  uploads.filter(({ state }) => state === 'waiting' || state === 'sending').length;

/** The pictures of the product: files are dropped here; the first picture is the main one. */
export function Pictures() {
  const t = useTexts();
  const { values, change, faults, pictures, uploads } = useEditing();
  const [opened, setOpened] = useState<string>();
  const ids = values.media_ids;
  const room = roomFor(ids, uploads.uploads);
  const send = (files: Iterable<File>) => uploads.send(files, room);
  const { dragAndDropHooks } = useDragAndDrop({
    getItems: (keys) => [...keys].map((key) => ({ 'text/plain': String(key) })),
    acceptedDragTypes: 'all',
    getDropOperation: (target, types) => {
      if (!types.has('text/plain')) return 'copy';
      // A picture is dropped between others.
      return target.type === 'root' ? 'cancel' : 'move';
    },
    onReorder: ({ keys, target }) =>
      change((now) => ({
        media_ids: movedTo(now.media_ids, [...keys].map(String), target),
      })),
    onInsert: ({ items }) => void filesOf(items).then(send),
    onRootDrop: ({ items }) => void filesOf(items).then(send),
  });
  const remove = (id: string) => {
    const place = ids.indexOf(id);
    change(({ media_ids }) => ({ media_ids: media_ids.filter((each) => each !== id) }));
    say(t.product.pictureRemoved, () =>
      change(({ media_ids }) => ({
        media_ids: media_ids.includes(id) ? media_ids : media_ids.toSpliced(place, 0, id),
      })),
    );
  };
  const shift = (id: string, by: -1 | 1) =>
    change(({ media_ids }) => {
      const target = media_ids[media_ids.indexOf(id) + by];
      return target === undefined
        ? {}
        : {
            media_ids: movedTo(media_ids, [id], {
              key: target,
              dropPosition: by === -1 ? 'before' : 'after',
            }),
          };
    });
  return (
    <Card
      title={t.product.pictures}
      hint={t.product.picturesHint}
      actions={
        <FileTrigger
          acceptedFileTypes={PICTURE_TYPES}
          allowsMultiple
          onSelect={(files) => files && send(files)}
        >
          <Button icon="upload" isDisabled={room <= 0}>
            {t.product.addPictures}
          </Button>
        </FileTrigger>
      }
    >
      <GridList
        aria-label={t.product.pictures}
        layout="grid"
        keyboardNavigationBehavior="tab"
        className="picture-grid"
        items={ids.map((id) => ({ id }))}
        dependencies={[pictures, values]}
        dragAndDropHooks={dragAndDropHooks}
        onAction={(id) => setOpened(String(id))}
        renderEmptyState={() => (
          <div className="drop-hint muted">
            <Icon name="media" size={28} />
            <span>{t.product.dropPictures}</span>
          </div>
        )}
      >
        {({ id }) => {
          const media = pictures.get(id);
          const place = ids.indexOf(id);
          const alt = values[`alt/${id}`];
          return (
            <GridListItem id={id} textValue={alt || t.product.pictureOf(place + 1)} className="picture-tile">
              <span className="tile">
                {thumbOf(media) ? (
                  <img src={thumbOf(media)} alt="" style={focusOf(media)} />
                ) : (
                  <Icon name="media" size={24} />
                )}
              </span>
              {place === 0 && <Badge>{t.product.mainPicture}</Badge>}
              {media?.status === 'failed' && <Badge tone="bad">{t.product.pictureFailed}</Badge>}
              {!alt && media?.status === 'ready' && <Badge tone="warn">{t.product.noAlt}</Badge>}
              <div className="tile-tools">
                <AriaButton
                  slot="drag"
                  className="button icon-only"
                  aria-label={t.product.dragPicture(place + 1)}
                >
                  <Icon name="drag" />
                </AriaButton>
                <Menu
                  label={t.product.pictureOf(place + 1)}
                  trigger={
                    <IconButton kind="plain" label={t.product.pictureActions(place + 1)} icon="more" />
                  }
                  items={[
                    { id: 'alt', icon: 'edit', label: t.product.editAlt, onAction: () => setOpened(id) },
                    {
                      id: 'first',
                      icon: 'media',
                      label: t.product.makeMain,
                      isDisabled: place === 0,
                      onAction: () =>
                        change(({ media_ids }) => ({
                          media_ids: movedTo(media_ids, [id], { key: media_ids[0]!, dropPosition: 'before' }),
                        })),
                    },
                    {
                      id: 'earlier',
                      icon: 'chevronLeft',
                      label: t.product.earlier,
                      isDisabled: place === 0,
                      onAction: () => shift(id, -1),
                    },
                    {
                      id: 'later',
                      icon: 'chevronRight',
                      label: t.product.later,
                      isDisabled: place === ids.length - 1,
                      onAction: () => shift(id, 1),
                    },
                    '-',
                    {
                      id: 'remove',
                      icon: 'trash',
                      label: t.product.removePicture,
                      isDanger: true,
                      onAction: () => remove(id),
                    },
                  ]}
                />
              </div>
            </GridListItem>
          );
        }}
      </GridList>
      <Uploads uploads={uploads.uploads} onDismiss={uploads.dismiss} />
      {faults.media_ids && <p className="fault">{faults.media_ids}</p>}
      <Dialog
        title={t.product.editAlt}
        isOpen={opened !== undefined}
        onClose={() => setOpened(undefined)}
        footer={
          <Button kind="primary" onPress={() => setOpened(undefined)}>
            {t.product.done}
          </Button>
        }
      >
        {opened && (
          <>
            <img
              className="large-picture"
              src={pictures.get(opened)?.url ?? thumbOf(pictures.get(opened))}
              alt=""
            />
            <TextField
              label={t.product.alt}
              hint={t.product.altHint}
              maxLength={500}
              value={values[`alt/${opened}`] ?? ''}
              fault={faults[`alt/${opened}`]}
              onChange={(alt) => change({ [`alt/${opened}`]: alt || null })}
              autoFocus
            />
          </>
        )}
      </Dialog>
    </Card>
  );
}
