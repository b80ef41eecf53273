import { useQuery } from '@tanstack/react-query';
import { useLocation, useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { formatDate } from '../../lib/format';
import { useListings } from '../../lib/listings';
import { useLocale, useTexts } from '../../texts/texts';
import { IconButton } from '../../ui/button';
import { Badge, ErrorState, Loading } from '../../ui/feedback';
import { Languages, type TextForm } from '../../ui/languages';
import { Columns, Page } from '../../ui/layout';
import { Menu } from '../../ui/overlay';
import { SaveBar } from '../../ui/save-bar';
import { useListingActions } from './actions';
import { ListingConflicts, Placement, SearchEngines, Texts, Visibility } from './editor';
import { ListingPictures } from './pictures';
import { ListingProducts } from './products';
import { type SavedListing, useEditor } from './use-editor';
import './listings.css';

export default function ListingPage({ id }: { readonly id: string }) {
  const t = useTexts();
  const { client } = useApi();
  const [search] = useSearchParams();
  const is_new = id === 'new';
  const { data, error, refetch } = useQuery({
    queryKey: ['listings', id],
    enabled: !is_new,
    queryFn: () => client.listings.get(id, { visibility: 'all', expand: ['media'] }),
  });
  if (is_new) return <Editor listing={undefined} parent_id={search.get('parent')} />;
  if (data) return <Editor listing={data} parent_id={null} />;
  return (
    <Page title={t.listings.title} back={['/listings', t.listings.title]}>
      {error ? <ErrorState error={error} onRetry={refetch} /> : <Loading lines={10} />}
    </Page>
  );
}

interface EditorProps {
  readonly listing: SavedListing | undefined;
  readonly parent_id: string | null;
}

function Editor({ listing, parent_id }: EditorProps) {
  const t = useTexts();
  const locale = useLocale();
  const { may } = useApi();
  const editor = useEditor(listing, parent_id);
  const { values, is_changed, is_pending, conflicts, save, discard } = editor;
  const refused = Object.keys(editor.faults).length;
  const is_first = editor.language === undefined;
  const texts = [
    [['name'], values.name],
    [['description'], values.description],
    [['seo', 'title'], values.seo_title],
    [['seo', 'description'], values.seo_description],
  ] as const;
  return (
    <Page
      title={listing?.name ?? t.listings.new}
      width="form"
      back={['/listings', t.listings.title]}
      state={
        listing?.visibility === 'private' && (
          <Badge tone={listing.publish_at ? 'info' : 'neutral'}>
            {listing.publish_at
              ? t.listings.scheduled(formatDate(listing.publish_at, locale))
              : t.listings.private}
          </Badge>
        )
      }
      actions={listing && <Actions listing={listing} />}
    >
      <ListingConflicts editor={editor} />
      {/* What is typed while a new listing is created would belong to no listing. */}
      <div inert={is_pending && !listing}>
        <Languages form={editor as TextForm} texts={texts} onChange={editor.setLanguage}>
          <Columns
            side={
              <>
                {is_first && <Visibility editor={editor} />}
                {is_first && <Placement editor={editor} listing={listing} />}
                <SearchEngines editor={editor} />
              </>
            }
          >
            <Texts editor={editor} />
            {is_first && (
              <ListingPictures
                ids={values.media_ids}
                known={listing?.media.data ?? []}
                fault={editor.faults.media_ids}
                onChange={(next) => editor.change((now) => ({ media_ids: next(now.media_ids) }))}
              />
            )}
            {is_first && listing && <ListingProducts listing={listing} />}
          </Columns>
        </Languages>
      </div>
      <SaveBar
        isChanged={is_changed && may('write:listings')}
        isPending={is_pending}
        isBlocked={conflicts.length > 0}
        fault={refused > 0 ? t.product.refused(refused) : undefined}
        onSave={() => void save()}
        onDiscard={discard}
      />
    </Page>
  );
}

function Actions({ listing }: { readonly listing: SavedListing }) {
  const t = useTexts();
  const { may } = useApi();
  const [, navigate] = useLocation();
  const { tree } = useListings();
  const { remove } = useListingActions();
  const { id, name, handle } = listing;
  const node = tree?.byId.get(id);
  return (
    <Menu
      label={t.listings.actions(name)}
      trigger={<IconButton kind="plain" label={t.listings.actions(name)} icon="more" />}
      items={[
        {
          id: 'products',
          label: t.listings.seeProducts,
          icon: 'product',
          href: `/products?listing_id=${id}`,
        },
        {
          id: 'shop',
          label: t.product.openInShop,
          icon: 'external',
          onAction: () => void window.open(`/c/${encodeURIComponent(handle ?? id)}`, '_blank'),
        },
        ...(node && may('write:listings')
          ? ([
              { id: 'new', label: t.listings.newBelow, icon: 'plus', href: `/listings/new?parent=${id}` },
              '-',
              {
                id: 'delete',
                label: t.common.delete,
                icon: 'trash',
                isDanger: true,
                onAction: () => {
                  navigate('/listings');
                  void remove(node);
                },
              },
            ] as const)
          : []),
      ]}
    />
  );
}
