import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Media } from 'catalog-client';
import { useState } from 'react';
import { DropZone, FileTrigger, GridList, GridListItem, type Selection } from 'react-aria-components';
import { useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { formatNumber } from '../../lib/format';
import { PICTURE_TYPES, useUploads } from '../../lib/uploads';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Checkbox } from '../../ui/fields';
import { Page, Tabs } from '../../ui/layout';
import { LoadMore } from '../../ui/load-more';
import { focusOf } from '../../ui/thumb';
import { filesOf, Uploads } from '../../ui/uploads';
import { DeleteMedia } from './delete-media';
import { MediaDetail } from './detail';
import './media.css';

const FILTERS = ['all', 'used', 'unused'] as const;
type Filter = (typeof FILTERS)[number];
const queryOf = (filter: Filter) =>
  ({ visibility: 'all', ...(filter !== 'all' && { in_use: filter === 'used' }) }) as const;

export default function MediaPage() {
  const t = useTexts();
  const locale = useLocale();
  const { client, may } = useApi();
  const queries = useQueryClient();
  const [search, setSearch] = useSearchParams();
  const filter = FILTERS.find((each) => each === search.get('use')) ?? 'all';
  const readAgain = () => queries.invalidateQueries({ queryKey: ['media'] });
  const { uploads, send, dismiss } = useUploads(readAgain, readAgain);
  const { data: counts } = useQuery({
    queryKey: ['media', 'counts'],
    queryFn: () =>
      Promise.all(
        FILTERS.map(async (each) => {
          const { meta } = await client.media.list({ ...queryOf(each), limit: 1 }).page();
          return meta.pagination.total_items;
        }),
      ),
  });
  const upload = (
    <FileTrigger acceptedFileTypes={PICTURE_TYPES} allowsMultiple onSelect={(files) => files && send(files)}>
      <Button kind="primary" icon="upload">
        {t.media.upload}
      </Button>
    </FileTrigger>
  );
  return (
    <Page title={t.media.title} actions={may('write:media') && upload}>
      <DropZone
        className="media-drop"
        aria-label={t.media.drop}
        isDisabled={!may('write:media')}
        getDropOperation={() => 'copy'}
        onDrop={({ items }) => void filesOf(items.filter((item) => item.kind === 'file')).then(send)}
      >
        {({ isDropTarget }) => (
          <>
            <Uploads uploads={uploads} onDismiss={dismiss} />
            <Tabs
              label={t.media.filter}
              selected={filter}
              onSelect={(use) => setSearch({ use }, { replace: true })}
              tabs={FILTERS.map((id, n) => ({
                id,
                label: (
                  <>
                    {t.media.filters[id]}{' '}
                    {counts && <span className="tab-count">{formatNumber(counts[n]!, locale)}</span>}
                  </>
                ),
              }))}
            >
              <Library key={filter} filter={filter} />
            </Tabs>
            {isDropTarget && <div className="media-drop-hint">{t.media.drop}</div>}
          </>
        )}
      </DropZone>
    </Page>
  );
}

function Library({ filter }: { readonly filter: Filter }) {
  const t = useTexts();
  const { client, may } = useApi();
  const [opened, setOpened] = useState<string>();
  const [selection, setSelection] = useState<Selection>(new Set());
  const [is_deleting, setDeleting] = useState(false);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['media', 'list', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      client.media.list({ ...queryOf(filter), limit: 50, ...(cursor && { cursor }) }).page(),
    getNextPageParam: ({ meta }) => meta.pagination.next_cursor,
  });
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading lines={8} />;
  const all = data.pages.flatMap((page) => page.data);
  const selected = all.filter(({ id }) => selection === 'all' || selection.has(id));
  const shown = all.find(({ id }) => id === opened);
  if (all.length === 0 && !hasNextPage)
    return (
      <EmptyState icon="media" title={t.media.empty[filter]}>
        {filter !== 'unused' && t.media.emptyHint}
      </EmptyState>
    );
  return (
    <>
      {selected.length > 0 && (
        <div className="row">
          <strong>{t.media.selected(selected.length)}</strong>
          <Button onPress={() => setSelection(new Set(all.map(({ id }) => id)))}>{t.media.selectAll}</Button>
          <Button onPress={() => setSelection(new Set())}>{t.media.clear}</Button>
          <Button kind="danger" icon="trash" onPress={() => setDeleting(true)}>
            {t.common.delete}
          </Button>
        </div>
      )}
      <GridList
        aria-label={t.media.title}
        layout="grid"
        className="media-grid"
        items={all}
        dependencies={[all]}
        selectionMode={may('write:media') ? 'multiple' : 'none'}
        selectedKeys={selection}
        onSelectionChange={setSelection}
        onAction={(id) => setOpened(String(id))}
      >
        {(media) => (
          <GridListItem id={media.id} textValue={media.alt ?? t.media.noAlt} className="media-tile">
            {may('write:media') && <Checkbox slot="selection" />}
            <Picture media={media} />
          </GridListItem>
        )}
      </GridList>
      {hasNextPage && <LoadMore onReach={() => !isFetchingNextPage && fetchNextPage()} />}
      {shown && (
        <MediaDetail
          key={shown.id}
          media={shown}
          onClose={() => setOpened(undefined)}
          onDelete={() => {
            setOpened(undefined);
            setSelection(new Set([shown.id]));
            setDeleting(true);
          }}
        />
      )}
      {is_deleting && (
        <DeleteMedia
          media={selected}
          onClose={() => setDeleting(false)}
          onDeleted={() => setSelection(new Set())}
        />
      )}
    </>
  );
}

function Picture({ media }: { readonly media: Media }) {
  const t = useTexts();
  const small = media.variants.find(({ name }) => name === 'small') ?? media.variants.at(-1);
  const src = small?.url ?? media.placeholder;
  return (
    <>
      {src ? (
        <img src={src} alt="" loading="lazy" style={focusOf(media)} />
      ) : (
        <span className={media.status === 'processing' ? 'media-blank moving' : 'media-blank'} />
      )}
      <span className="media-badges">
        {media.status === 'failed' && <Badge tone="bad">{t.media.failed}</Badge>}
        {media.status === 'processing' && <Badge>{t.media.states.processing}</Badge>}
        {media.status === 'ready' && !media.alt && <Badge tone="warn">{t.media.noAlt}</Badge>}
      </span>
    </>
  );
}
