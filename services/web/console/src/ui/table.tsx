import type { ReactNode } from 'react';
import {
  Column as AriaColumn,
  Table as AriaTable,
  Cell,
  Row,
  TableBody,
  TableHeader,
} from 'react-aria-components';
import './table.css';

export interface Column<Item> {
  readonly id: string;
  readonly label: string;
  readonly cell: (item: Item) => ReactNode;
  /** Right-aligned, in tabular figures. */
  readonly isNumber?: boolean;
  /** Only screen readers read the label. */
  readonly hideLabel?: boolean;
}

interface TableProps<Item extends { readonly id: string }> {
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  /** The first column names the row: its text for screen readers and for typing ahead. */
  readonly nameOf: (item: Item) => string;
  readonly hrefOf?: (item: Item) => string;
  readonly onAction?: (item: Item) => void;
  readonly empty?: ReactNode;
}

/** A table with the keys of a grid (arrows, Home, End, letters). On a phone, each row is a card. For up to some hundred rows. */
export function Table<Item extends { readonly id: string }>(props: TableProps<Item>) {
  const { label, columns, items, nameOf, hrefOf, onAction, empty } = props;
  return (
    <div className="table-frame">
      <AriaTable aria-label={label} className="table">
        <TableHeader>
          {columns.map((column, index) => (
            <AriaColumn
              key={column.id}
              id={column.id}
              isRowHeader={index === 0}
              className={column.isNumber ? 'number' : ''}
              textValue={column.label}
            >
              <span className={column.hideLabel ? 'visually-hidden' : ''}>{column.label}</span>
            </AriaColumn>
          ))}
        </TableHeader>
        <TableBody items={items} renderEmptyState={() => empty} dependencies={[columns, items]}>
          {(item) => (
            <Row
              id={item.id}
              textValue={nameOf(item)}
              {...(hrefOf && { href: hrefOf(item) })}
              {...(onAction && { onAction: () => onAction(item) })}
              className={hrefOf || onAction ? 'clickable' : ''}
            >
              {columns.map((column) => {
                const content = column.cell(item);
                return (
                  <Cell key={column.id} className={column.isNumber ? 'number' : ''} textValue={column.label}>
                    {content && !column.hideLabel && <span className="card-label">{column.label}</span>}
                    {content}
                  </Cell>
                );
              })}
            </Row>
          )}
        </TableBody>
      </AriaTable>
    </div>
  );
}
