import { useState } from 'react';
import {
  Button as AriaButton,
  Collection,
  DropZone,
  Input,
  isTextDropItem,
  ListLayout,
  TextField,
  Tree,
  TreeItem,
  TreeItemContent,
  useDragAndDrop,
  Virtualizer,
} from 'react-aria-components';
import { useApi } from '../../lib/api';
import { formatDate } from '../../lib/format';
import type { ListingNode, ListingTree } from '../../lib/listings';
import { useLocale, useTexts } from '../../texts/texts';
import { IconButton } from '../../ui/button';
import { Badge } from '../../ui/feedback';
import { Icon } from '../../ui/icon';
import { Menu } from '../../ui/overlay';
import { useListingActions } from './actions';
import { ListingPicker } from './picker';
import './listings.css';

/** Names what is dragged, so that files and texts from elsewhere are not accepted. */
const DRAG_TYPE = 'catalog-listing';
const ROW_PX = matchMedia('(pointer: coarse)').matches ? 44 : 36;

interface ListingsTreeProps {
  readonly tree: ListingTree;
  /** The listings to show at the top, which a search may have chosen. */
  readonly shown: readonly ListingNode[];
  readonly expanded: ReadonlySet<string>;
  readonly onExpand: (expanded: ReadonlySet<string>) => void;
}

/** The tree. A listing is dragged into another one, by mouse or with its handle by keyboard, or moved by its menu. */
export function ListingsTree({ tree, shown, expanded, onExpand }: ListingsTreeProps) {
  const t = useTexts();
  const { may } = useApi();
  const { move, remove } = useListingActions();
  const [renamed, setRenamed] = useState<string>();
  const [moved, setMoved] = useState<ListingNode>();
  const [is_dragging, setDragging] = useState(false);
  const may_write = may('write:listings');
  const dragged = (keys: Iterable<React.Key>) => [...keys].flatMap((key) => tree.byId.get(String(key)) ?? []);
  const { dragAndDropHooks } = useDragAndDrop<ListingNode>({
    isDisabled: !may_write,
    getItems: (_, nodes) => nodes.map(({ id, listing }) => ({ [DRAG_TYPE]: id, 'text/plain': listing.name })),
    onDragStart: () => setDragging(true),
    onDragEnd: () => setDragging(false),
    // The order of the listings is that of their names. So a listing is dropped on another one, never between two.
    getDropOperation: (target) =>
      target.type === 'item' && target.dropPosition === 'on' ? 'move' : 'cancel',
    onMove: ({ keys, target }) => {
      const parent = tree.byId.get(String(target.key));
      for (const node of dragged(keys)) void move(node, parent);
      onExpand(new Set([...expanded, String(target.key)]));
    },
  });
  const row = (node: ListingNode) => (
    <TreeItem
      id={node.id}
      textValue={node.listing.name}
      className="listing-row"
      hasChildItems={node.children.length > 0}
      {...(renamed !== node.id && { href: `/listings/${node.id}` })}
    >
      <TreeItemContent>
        {({ hasChildItems, isExpanded, level }) => (
          <Row
            node={node}
            level={level}
            hasChildren={hasChildItems}
            isExpanded={isExpanded}
            isRenamed={renamed === node.id}
            onRename={setRenamed}
            onMove={() => setMoved(node)}
            onRemove={() => void remove(node)}
          />
        )}
      </TreeItemContent>
      <Collection items={node.children}>{row}</Collection>
    </TreeItem>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: The keys belong to the rows inside.
    <div
      className="listing-frame"
      onKeyDown={(event) => {
        const id =
          event.target instanceof HTMLElement && event.target.role === 'row' && event.target.dataset.key;
        const node = id && may_write ? tree.byId.get(id) : undefined;
        if (!node) return;
        if (event.key === 'F2') setRenamed(node.id);
        if (event.key === 'Delete') void remove(node);
      }}
    >
      <Virtualizer layout={ListLayout} layoutOptions={{ rowSize: ROW_PX }}>
        <Tree
          aria-label={t.listings.tree}
          className="listing-tree"
          items={shown}
          dependencies={[renamed, shown]}
          expandedKeys={expanded}
          onExpandedChange={(keys) => onExpand(new Set([...keys].map(String)))}
          dragAndDropHooks={dragAndDropHooks}
          // The arrow keys belong to the field of a name while it is changed.
          keyboardNavigationBehavior="tab"
        >
          {row}
        </Tree>
      </Virtualizer>
      {is_dragging && (
        <DropZone
          className="drop-at-top"
          aria-label={t.listings.dropAtTop}
          getDropOperation={(types) => (types.has(DRAG_TYPE) ? 'move' : 'cancel')}
          onDrop={async ({ items }) => {
            const ids = await Promise.all(
              items.filter(isTextDropItem).map((item) => item.getText(DRAG_TYPE)),
            );
            for (const node of dragged(ids)) void move(node, undefined);
          }}
        >
          {t.listings.dropAtTop}
        </DropZone>
      )}
      {moved && (
        <ListingPicker
          title={t.listings.moveTitle(moved.listing.name)}
          tree={tree}
          placeOf={moved}
          onClose={() => setMoved(undefined)}
          onChoose={(parent) => void move(moved, parent)}
        />
      )}
    </div>
  );
}

interface RowProps {
  readonly node: ListingNode;
  readonly level: number;
  readonly hasChildren: boolean;
  readonly isExpanded: boolean;
  readonly isRenamed: boolean;
  readonly onRename: (id: string | undefined) => void;
  readonly onMove: () => void;
  readonly onRemove: () => void;
}

function Row({ node, level, hasChildren, isExpanded, isRenamed, onRename, onMove, onRemove }: RowProps) {
  const t = useTexts();
  const locale = useLocale();
  const { may } = useApi();
  const { rename } = useListingActions();
  const { id, listing } = node;
  const may_write = may('write:listings');
  return (
    <div className="listing-cells" style={{ paddingInlineStart: (level - 1) * 20 }}>
      {hasChildren ? (
        <AriaButton slot="chevron" className="tree-chevron" aria-label={t.listings.expand(listing.name)}>
          <Icon name={isExpanded ? 'chevronDown' : 'chevronRight'} />
        </AriaButton>
      ) : (
        <span className="tree-chevron" />
      )}
      {isRenamed ? (
        <Rename
          name={listing.name}
          onDone={(name) => {
            onRename(undefined);
            void rename(node, name);
          }}
        />
      ) : (
        <span className="listing-name truncate" dir="auto" title={listing.name}>
          {listing.name}
        </span>
      )}
      {listing.visibility === 'private' && (
        <Badge tone={listing.publish_at ? 'info' : 'neutral'}>
          {listing.publish_at
            ? t.listings.scheduled(formatDate(listing.publish_at, locale))
            : t.listings.private}
        </Badge>
      )}
      <span className="listing-count number muted small">
        {t.products.count(listing.stats?.publication_count ?? 0)}
      </span>
      {may_write && (
        <AriaButton
          slot="drag"
          className="button quiet icon-only drag-handle"
          aria-label={t.listings.drag(listing.name)}
        >
          <Icon name="drag" />
        </AriaButton>
      )}
      <Menu
        label={t.listings.actions(listing.name)}
        trigger={<IconButton label={t.listings.actions(listing.name)} icon="more" />}
        items={[
          { id: 'open', label: t.listings.open, icon: 'edit', href: `/listings/${id}` },
          {
            id: 'products',
            label: t.listings.seeProducts,
            icon: 'product',
            href: `/products?listing_id=${id}`,
          },
          ...(may_write
            ? ([
                '-',
                { id: 'new', label: t.listings.newBelow, icon: 'plus', href: `/listings/new?parent=${id}` },
                { id: 'rename', label: t.listings.rename, onAction: () => onRename(id) },
                { id: 'move', label: t.listings.move, onAction: onMove },
                '-',
                { id: 'delete', label: t.common.delete, icon: 'trash', isDanger: true, onAction: onRemove },
              ] as const)
            : []),
        ]}
      />
    </div>
  );
}

/** The name as a field. Enter or leaving it keeps the new name, Escape the old one. */
function Rename({ name, onDone }: { readonly name: string; readonly onDone: (name: string) => void }) {
  const t = useTexts();
  const [text, setText] = useState(name);
  return (
    <TextField
      aria-label={t.listings.name}
      value={text}
      onChange={setText}
      autoFocus
      className="listing-name"
      onBlur={() => onDone(text.trim())}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onDone(text.trim());
        else if (event.key === 'Escape') onDone(name);
      }}
    >
      <Input className="input" dir="auto" onFocus={(event) => event.target.select()} />
    </TextField>
  );
}
