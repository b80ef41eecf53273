import { useState } from 'react';
import { Autocomplete, Input, Menu, MenuItem, SearchField, useFilter } from 'react-aria-components';
import { type ListingNode, type ListingTree, pathText, pathTo, withDescendants } from '../../lib/listings';
import { useTexts } from '../../texts/texts';
import { Icon } from '../../ui/icon';
import { Dialog } from '../../ui/overlay';

const SHOWN_MAX = 50;
/** Of a tree (docs/interface/listings.md). */
const LEVELS_MAX = 6;
/** The id of the choice that is no listing. */
const TOP = 'top';

interface ListingPickerProps {
  readonly title: string;
  readonly tree: ListingTree;
  /** The listing that gets a new place: listings below it, and those that are too deep for it, are not offered. */
  readonly placeOf: ListingNode | undefined;
  readonly onClose: () => void;
  /** Undefined is the top of the tree. */
  readonly onChoose: (parent: ListingNode | undefined) => void;
}

/** Asks for the listing that another one goes below. */
export function ListingPicker({ title, tree, placeOf, onClose, onChoose }: ListingPickerProps) {
  const t = useTexts();
  const [text, setText] = useState('');
  const { contains } = useFilter({ sensitivity: 'base' });
  const below = placeOf ? withDescendants(placeOf) : [];
  const levels = placeOf
    ? Math.max(...below.map((each) => pathTo(each).length)) - pathTo(placeOf).length + 1
    : 1;
  const isPossible = (node: ListingNode) =>
    !below.includes(node) && pathTo(node).length + levels <= LEVELS_MAX;
  const items = [
    ...(text === '' ? [{ id: TOP, label: t.listings.top }] : []),
    ...tree.tops
      .flatMap(withDescendants)
      .filter((node) => contains(node.listing.name, text.trim()) && isPossible(node))
      .toSorted((one, other) => pathTo(one).length - pathTo(other).length)
      .slice(0, SHOWN_MAX)
      .map((node) => ({ id: node.id, label: pathText(node) })),
  ];
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <Autocomplete inputValue={text} onInputChange={setText}>
        <SearchField aria-label={t.common.search} autoFocus>
          <Input className="input" placeholder={t.common.search} dir="auto" />
        </SearchField>
        <Menu
          items={items}
          aria-label={t.listings.title}
          className="picker-list"
          renderEmptyState={() => <p className="muted">{t.listings.noMatch(text)}</p>}
        >
          {({ id, label }) => (
            <MenuItem
              id={id}
              className="list-item"
              textValue={label}
              onAction={() => {
                onClose();
                onChoose(tree.byId.get(id));
              }}
            >
              <Icon name={id === TOP ? 'overview' : 'listing'} />
              <span dir="auto">{label}</span>
            </MenuItem>
          )}
        </Menu>
      </Autocomplete>
    </Dialog>
  );
}
