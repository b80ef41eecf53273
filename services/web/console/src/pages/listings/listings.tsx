import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { useFilter } from 'react-aria-components';
import { useApi } from '../../lib/api';
import { formatAgo } from '../../lib/format';
import { type ListingNode, useListings, withDescendants } from '../../lib/listings';
import { useStored } from '../../lib/stored';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, LinkButton } from '../../ui/button';
import { EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { SearchField } from '../../ui/fields';
import { Card, Page, Tabs } from '../../ui/layout';
import { Table } from '../../ui/table';
import { useListingActions } from './actions';
import { ListingsTree } from './tree';

export default function ListingsPage() {
  const t = useTexts();
  const { may } = useApi();
  const [tab, setTab] = useState('tree');
  return (
    <Page
      title={t.listings.title}
      actions={
        may('write:listings') && (
          <LinkButton kind="primary" icon="plus" href="/listings/new">
            {t.listings.new}
          </LinkButton>
        )
      }
    >
      <Tabs
        label={t.listings.title}
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: 'tree', label: t.listings.title },
          { id: 'deleted', label: t.listings.deletedTab },
        ]}
      >
        {tab === 'tree' ? <All /> : <Deleted />}
      </Tabs>
    </Page>
  );
}

function All() {
  const t = useTexts();
  const { store_id } = useApi();
  const { tree, error, refetch } = useListings();
  const [text, setText] = useState('');
  const [open, setOpen] = useStored<readonly string[]>(`listings-open/${store_id}`, []);
  const { contains } = useFilter({ sensitivity: 'base' });
  // Typing does not wait for the rows.
  const q = useDeferredValue(text.trim());
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!tree) return <Loading lines={8} />;
  const shown = q === '' ? tree.tops : matching(tree.tops, ({ listing }) => contains(listing.name, q));
  const withChildren = (nodes: readonly ListingNode[]) =>
    nodes.flatMap(withDescendants).flatMap(({ id, children }) => (children.length > 0 ? id : []));
  if (tree.tops.length === 0)
    return (
      <Card>
        <EmptyState
          icon="listing"
          title={t.listings.empty}
          action={<LinkButton href="/listings/new">{t.listings.new}</LinkButton>}
        >
          {t.listings.emptyHint}
        </EmptyState>
      </Card>
    );
  return (
    <>
      <div className="row">
        <div className="listing-search">
          <SearchField label={t.common.search} value={text} onChange={setText} />
        </div>
        <Button kind="quiet" onPress={() => setOpen(open.length > 0 ? [] : withChildren(tree.tops))}>
          {open.length > 0 ? t.listings.collapseAll : t.listings.expandAll}
        </Button>
        <span className="muted small">{t.listings.count(tree.byId.size)}</span>
      </div>
      <Card isFlush>
        {shown.length === 0 ? (
          <EmptyState icon="search" title={t.listings.noMatch(q)} />
        ) : (
          <ListingsTree
            tree={tree}
            shown={shown}
            expanded={new Set(q === '' ? open : withChildren(shown))}
            onExpand={(keys) => q === '' && setOpen([...keys])}
          />
        )}
      </Card>
    </>
  );
}

/** Returns the listings that match, with the listings that contain them. What is below a match stays, too. */
const matching = (
  nodes: readonly ListingNode[],
  isMatch: (node: ListingNode) => boolean,
): readonly ListingNode[] =>
  nodes.flatMap((node) => {
    if (isMatch(node)) return node;
    const children = matching(node.children, isMatch);
    return children.length > 0 ? { ...node, children } : [];
  });

function Deleted() {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { restore } = useListingActions();
  const { data, error, refetch } = useQuery({
    queryKey: ['listings', 'deleted'],
    queryFn: () => client.listings.list({ visibility: 'deleted' }).all(),
  });
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  return (
    <Card isFlush>
      <Table
        label={t.listings.deletedTab}
        items={data}
        nameOf={({ name }) => name}
        columns={[
          { id: 'name', label: t.listings.name, cell: ({ name }) => <span dir="auto">{name}</span> },
          {
            id: 'deleted',
            label: t.listings.deletedAt,
            cell: ({ deleted_at }) => deleted_at && formatAgo(deleted_at, locale),
          },
          {
            id: 'restore',
            label: t.common.restore,
            hideLabel: true,
            isNumber: true,
            cell: (listing) => (
              <Button onPress={() => void restore(listing, data)}>{t.common.restore}</Button>
            ),
          },
        ]}
        empty={
          <EmptyState icon="trash" title={t.listings.noDeleted}>
            {t.listings.noDeletedHint}
          </EmptyState>
        }
      />
    </Card>
  );
}
