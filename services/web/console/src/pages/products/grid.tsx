// biome-ignore-all lint/a11y/useSemanticElements: Rows that are placed by script cannot be rows of a table.
// biome-ignore-all lint/a11y/useFocusableInteractive: Only the cells of a grid take the focus.
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useTexts } from '../../texts/texts';
import { Icon } from '../../ui/icon';
import { parseBlock, writeBlock } from './block';
import type { Range } from './use-products';
import './grid.css';

export interface GridColumn<Item> {
  readonly id: string;
  readonly label: string;
  /** Pixels. */
  readonly width: number;
  /** The column takes the space that is left. */
  readonly isWide?: boolean;
  readonly cell: (item: Item) => ReactNode;
  /** The text to edit. Undefined if the cell of this item cannot be edited. */
  readonly textOf?: (item: Item) => string | undefined;
  /** The texts to choose from. */
  readonly choices?: readonly string[];
  readonly isNumber?: boolean;
  readonly isSortable?: boolean;
  /** Only screen readers read the label. */
  readonly hideLabel?: boolean;
}

/** What was typed into a cell and is not saved. */
export interface CellEdit {
  readonly text: string;
  readonly state: 'changed' | 'saving' | 'refused';
  /** Why it was refused. */
  readonly fault?: string;
}
export type CellEdits = Readonly<Record<string, CellEdit | undefined>>;
export const cellKey = (id: string, column: string): string => `${id} ${column}`;

export interface CellText<Item> {
  readonly item: Item;
  readonly column: string;
  readonly text: string;
}

export interface GridSelection {
  readonly isSelected: (id: string) => boolean;
  readonly isAll: boolean;
  readonly isSome: boolean;
  readonly onSelect: (ids: readonly string[], isSelected: boolean) => void;
  readonly onSelectAll: (isSelected: boolean) => void;
}

interface Sort {
  readonly column: string;
  readonly order: 'asc' | 'desc';
}

interface GridProps<Item> {
  readonly label: string;
  readonly columns: readonly GridColumn<Item>[];
  readonly count: number;
  /** Undefined while the item is loading. */
  readonly itemAt: (index: number) => Item | undefined;
  readonly nameOf: (item: Item) => string;
  readonly edits: CellEdits;
  readonly onCommit: (cells: readonly CellText<Item>[]) => void;
  /** Called with the rows that are drawn. */
  readonly onRange?: (range: Range) => void;
  /** Enter on a cell that cannot be edited. */
  readonly onOpen?: (item: Item) => void;
  readonly selection?: GridSelection;
  readonly sort?: Sort | undefined;
  readonly onSort?: (column: string) => void;
  /** As in a spreadsheet: blocks of cells are chosen, copied, pasted, filled and cleared. */
  readonly isSheet?: boolean;
  /** Ctrl Z. */
  readonly onUndo?: () => void;
  /** Called with the number of pasted rows for which the grid had no row. */
  readonly onLost?: (rows: number) => void;
  /** Rows are cards, for phones. */
  readonly isCards?: boolean;
  /** The grid is another one: it begins at its first row. */
  readonly startKey?: string;
}

/** The cell with the field. */
interface Editing {
  readonly id: string;
  readonly column: string;
  readonly text: string;
  /** The text was typed over that of the cell. */
  readonly isTyped: boolean;
}

interface Place {
  readonly row: number;
  readonly column: number;
}

const ROW_PX = 44;
const SHEET_ROW_PX = 34;
const CARD_PX = 68;
const CHECK_PX = 36;

/**
 * A grid of any number of rows, of which only the visible ones exist. Arrows move, Enter and F2 edit, Esc cancels, Tab goes on
 * to the next cell that can be edited, Space selects the row.
 */
export function Grid<Item extends { readonly id: string }>(props: GridProps<Item>) {
  const { columns, count, itemAt, nameOf, edits, onCommit, onRange, onOpen, selection, isSheet, isCards } =
    props;
  const t = useTexts();
  const root = useRef<HTMLDivElement>(null);
  const [focus, setFocus] = useState<Place>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<Place>();
  const [editing, setEditing] = useState<Editing>();
  const wants_focus = useRef(false);
  const last_selected = useRef(0);
  const focused_row = Math.min(focus.row, Math.max(0, count - 1));

  const rows = useVirtualizer({
    count,
    getScrollElement: () => root.current,
    estimateSize: () => (isCards ? CARD_PX : isSheet ? SHEET_ROW_PX : ROW_PX),
    overscan: 8,
    // The focused row stays, so that the keys go on from there.
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range);
      return shown.includes(focused_row) || count === 0
        ? shown
        : [...shown, focused_row].sort((a, b) => a - b);
    },
  });
  const { startIndex: first = 0, endIndex: last = 0 } = rows.range ?? {};
  useEffect(() => onRange?.({ first, last }), [first, last]);
  useEffect(() => rows.measure(), [isCards]);
  useEffect(() => {
    root.current?.scrollTo({ top: 0 });
    setFocus(({ column }) => ({ row: 0, column }));
    setAnchor(undefined);
  }, [props.startKey]);
  useLayoutEffect(() => {
    if (!wants_focus.current) return;
    const cell = root.current?.querySelector<HTMLElement>(`[data-cell="${focused_row}:${focus.column}"]`);
    if (!cell) return;
    wants_focus.current = false;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });

  const textAt = ({ row, column }: Place): string | undefined => {
    const item = itemAt(row);
    const { id, textOf } = columns[column] ?? {};
    const text = item && textOf?.(item);
    return text === undefined ? undefined : (edits[cellKey(item!.id, id!)]?.text ?? text);
  };
  const move = (place: Place, is_extending = false) => {
    setAnchor(isSheet && is_extending ? (anchor ?? focus) : undefined);
    setFocus({
      row: Math.max(0, Math.min(count - 1, place.row)),
      column: Math.max(0, Math.min(columns.length - 1, place.column)),
    });
    wants_focus.current = true;
  };
  const edit = (place: Place, typed?: string) => {
    const item = itemAt(place.row);
    const text = textAt(place);
    if (!item || text === undefined) return false;
    setFocus(place);
    setAnchor(undefined);
    setEditing({ id: item.id, column: columns[place.column]!.id, text: typed ?? text, isTyped: !!typed });
    return true;
  };
  const editNext = (from: Place, step: 1 | -1) => {
    const width = columns.length;
    for (let at = from.row * width + from.column + step; at >= 0 && at < count * width; at += step) {
      const place = { row: Math.floor(at / width), column: at % width };
      if (edit(place)) return;
      if (!itemAt(place.row)) return move(place);
    }
    move(from);
  };
  const commit = (item: Item, column: string, text: string) => {
    setEditing(undefined);
    const is_new = edits[cellKey(item.id, column)] !== undefined;
    const saved = columns.find(({ id }) => id === column)?.textOf?.(item);
    if (text !== saved || is_new) onCommit([{ item, column, text }]);
  };

  const block = () => {
    const other = anchor ?? focus;
    const [top, bottom] = [Math.min(focus.row, other.row), Math.max(focus.row, other.row)];
    const [left, right] = [Math.min(focus.column, other.column), Math.max(focus.column, other.column)];
    return { top, bottom, left, right };
  };
  /** Writes texts into cells from a place on; of a cell that cannot be edited, the text is left out. */
  const write = (texts: readonly (readonly string[])[], { row, column }: Place) => {
    const cells = texts.flatMap((line, y) =>
      line.flatMap((text, x): CellText<Item>[] => {
        const place = { row: row + y, column: column + x };
        const item = itemAt(place.row);
        if (!item || textAt(place) === undefined || textAt(place) === text) return [];
        return [{ item, column: columns[place.column]!.id, text }];
      }),
    );
    if (cells.length > 0) onCommit(cells);
    if (row + texts.length > count) props.onLost?.(row + texts.length - count);
  };
  const fillBlock = (textOf: (place: Place) => string) => {
    const { top, bottom, left, right } = block();
    const texts = Array.from({ length: bottom - top + 1 }, (_, y) =>
      Array.from({ length: right - left + 1 }, (__, x) => textOf({ row: top + y, column: left + x })),
    );
    write(texts, { row: top, column: left });
  };
  const paste = (text: string) => {
    const { top, bottom, left, right } = block();
    const texts = parseBlock(text);
    if (texts.length === 1 && texts[0]!.length === 1) return fillBlock(() => texts[0]![0]!);
    setFocus({ row: top, column: left });
    setAnchor({
      row: Math.min(count - 1, Math.max(bottom, top + texts.length - 1)),
      column: Math.min(columns.length - 1, Math.max(right, left + texts[0]!.length - 1)),
    });
    write(texts, { row: top, column: left });
  };

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (editing || !(event.target as HTMLElement).dataset.cell) return;
    const { row, column } = { ...focus, row: focused_row };
    const has_command = event.ctrlKey || event.metaKey;
    const moves: Readonly<Record<string, Place>> = {
      ArrowDown: { row: has_command ? count - 1 : row + 1, column },
      ArrowUp: { row: has_command ? 0 : row - 1, column },
      ArrowRight: { row, column: column + 1 },
      ArrowLeft: { row, column: column - 1 },
      Home: { row: has_command ? 0 : row, column: 0 },
      End: { row: has_command ? count - 1 : row, column: columns.length - 1 },
      PageDown: { row: row + Math.max(1, last - first - 1), column },
      PageUp: { row: row - Math.max(1, last - first - 1), column },
    };
    const target = moves[event.key];
    const item = itemAt(row);
    if (target) move(target, event.shiftKey);
    else if (event.key === 'Enter' || event.key === 'F2') {
      if (!edit({ row, column }) && item && event.key === 'Enter') onOpen?.(item);
    } else if (event.key === ' ' && selection && item) {
      selection.onSelect([item.id], !selection.isSelected(item.id));
    } else if (event.key === 'Escape' && anchor) setAnchor(undefined);
    else if (isSheet && (event.key === 'Delete' || event.key === 'Backspace')) fillBlock(() => '');
    else if (isSheet && has_command && event.key === 'd') {
      fillBlock(({ column: x }) => textAt({ row: block().top, column: x }) ?? '');
    } else if (has_command && event.key === 'z' && props.onUndo) {
      props.onUndo();
    } else if (
      has_command ||
      event.altKey ||
      event.key.length !== 1 ||
      event.key === '/' ||
      event.key === ' '
    )
      return;
    else if (!edit({ row, column }, columns[column]?.choices ? undefined : event.key)) return;
    event.preventDefault();
  };

  const { top, bottom, left, right } = block();
  const widths = columns.map(({ width, isWide }) => (isWide ? `minmax(${width}px, 1fr)` : `${width}px`));
  const template = { gridTemplateColumns: [...(selection ? [`${CHECK_PX}px`] : []), ...widths].join(' ') };
  const width = columns.reduce((sum, column) => sum + column.width, selection ? CHECK_PX : 0);
  const kind = isCards ? 'cards' : isSheet ? 'sheet' : 'rows';
  const shift = selection ? 2 : 1;

  const editor = (item: Item, column: GridColumn<Item>, place: Place) => (
    <CellEditor
      label={`${column.label}, ${nameOf(item)}`}
      text={editing!.text}
      isTyped={editing!.isTyped}
      choices={column.choices}
      isNumber={column.isNumber ?? false}
      onCancel={() => {
        setEditing(undefined);
        wants_focus.current = true;
      }}
      onCommit={(text, next) => {
        commit(item, column.id, text);
        if (next === 'down') move({ row: place.row + 1, column: place.column });
        else if (next) editNext(place, next === 'next' ? 1 : -1);
      }}
      onPasteBlock={
        isSheet
          ? (text) => {
              setEditing(undefined);
              wants_focus.current = true;
              paste(text);
            }
          : undefined
      }
    />
  );

  const cell = (item: Item | undefined, column: GridColumn<Item>, place: Place) => {
    const found = item && edits[cellKey(item.id, column.id)];
    const is_editable = item !== undefined && column.textOf?.(item) !== undefined;
    const is_editing = item !== undefined && editing?.id === item.id && editing.column === column.id;
    const is_focused = place.row === focused_row && place.column === focus.column;
    const is_in_block =
      anchor && place.row >= top && place.row <= bottom && place.column >= left && place.column <= right;
    const names = [
      `grid-cell col-${column.id}`,
      column.isNumber && 'number',
      is_editable && 'editable',
      is_in_block && 'in-block',
      found?.state,
    ];
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: The grid handles the keys of its cells.
      <div
        key={column.id}
        role="gridcell"
        tabIndex={is_focused ? 0 : -1}
        aria-colindex={place.column + shift}
        aria-readonly={!is_editable}
        aria-invalid={found?.state === 'refused' || undefined}
        data-cell={`${place.row}:${place.column}`}
        className={names.filter(Boolean).join(' ')}
        onFocus={(event) => event.target === event.currentTarget && !is_focused && setFocus(place)}
        onPointerDown={(event) => {
          if (is_editing || event.button !== 0) return;
          setAnchor(isSheet && event.shiftKey ? (anchor ?? focus) : undefined);
          setFocus(place);
        }}
        onPointerEnter={(event) => {
          if (!isSheet || editing || event.buttons !== 1) return;
          setAnchor(anchor ?? focus);
          setFocus(place);
        }}
        onClick={(event) => {
          if (!isSheet && !is_editing && !(event.target as Element).closest('a, button, input')) edit(place);
        }}
        onDoubleClick={() => !is_editing && edit(place)}
      >
        {!item ? (
          <span className="grid-loading" />
        ) : is_editing ? (
          editor(item, column, place)
        ) : found ? (
          <>
            <span className="truncate" dir="auto">
              {found.text === '' ? '–' : found.text}
            </span>
            {found.state === 'saving' && (
              <span className="spinner" role="status" aria-label={t.products.saving} />
            )}
            {found.fault && <span className="cell-fault">{found.fault}</span>}
          </>
        ) : (
          column.cell(item)
        )}
      </div>
    );
  };

  return (
    <div
      ref={root}
      role="grid"
      aria-label={props.label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length + shift - 1}
      aria-multiselectable={selection ? true : undefined}
      className={`grid ${kind}`}
      onKeyDown={onKeyDown}
      onCopy={(event) => {
        if (!isSheet || editing) return;
        const texts = Array.from({ length: bottom - top + 1 }, (_, y) =>
          Array.from(
            { length: right - left + 1 },
            (__, x) => textAt({ row: top + y, column: left + x }) ?? '',
          ),
        );
        event.clipboardData.setData('text/plain', writeBlock(texts));
        event.preventDefault();
      }}
      onPaste={(event) => {
        if (!isSheet || editing) return;
        event.preventDefault();
        paste(event.clipboardData.getData('text/plain'));
      }}
    >
      <div
        role="row"
        aria-rowindex={1}
        className="grid-row grid-header"
        style={isCards ? {} : { ...template, minWidth: width }}
      >
        {selection && (
          <div role="columnheader" aria-colindex={1} className="grid-check">
            <label>
              <input
                type="checkbox"
                checked={selection.isAll}
                ref={(box) => {
                  if (box) box.indeterminate = selection.isSome && !selection.isAll;
                }}
                onChange={({ target }) => selection.onSelectAll(target.checked)}
              />
              <span className={isCards ? '' : 'visually-hidden'}>{t.products.selectAll}</span>
            </label>
          </div>
        )}
        {columns.map(({ id, label, isNumber, isSortable, hideLabel }, index) => (
          <div
            key={id}
            role="columnheader"
            aria-colindex={index + shift}
            className={isNumber ? 'number' : `col-${id}`}
            aria-sort={
              props.sort?.column !== id ? undefined : props.sort.order === 'asc' ? 'ascending' : 'descending'
            }
          >
            {isSortable && props.onSort ? (
              <button type="button" className="grid-sort" onClick={() => props.onSort?.(id)}>
                {label}
                {props.sort?.column === id && <Icon name="chevronDown" size={12} />}
              </button>
            ) : (
              <span className={hideLabel ? 'visually-hidden' : 'truncate'}>{label}</span>
            )}
          </div>
        ))}
      </div>
      <div
        role="presentation"
        className="grid-body"
        style={{ height: rows.getTotalSize(), minWidth: isCards ? 0 : width }}
      >
        {rows.getVirtualItems().map(({ index, start, size }) => {
          const item = itemAt(index);
          const is_selected = item !== undefined && selection?.isSelected(item.id);
          return (
            <div
              key={item?.id ?? index}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={selection ? is_selected === true : undefined}
              className={is_selected ? 'grid-row selected' : 'grid-row'}
              style={{ top: start, height: size, ...(!isCards && template) }}
            >
              {selection && (
                <div role="gridcell" aria-colindex={1} className="grid-check">
                  {item && (
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-label={t.products.selectNamed(nameOf(item))}
                      checked={is_selected === true}
                      onChange={() => {}}
                      onClick={(event) => {
                        const from = event.shiftKey ? Math.min(last_selected.current, index) : index;
                        const to = event.shiftKey ? Math.max(last_selected.current, index) : index;
                        last_selected.current = index;
                        const ids = Array.from(
                          { length: to - from + 1 },
                          (_, n) => itemAt(from + n)?.id ?? [],
                        );
                        selection.onSelect(ids.flat(), !is_selected);
                      }}
                    />
                  )}
                </div>
              )}
              {columns.map((column, x) => cell(item, column, { row: index, column: x }))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface CellEditorProps {
  readonly label: string;
  readonly text: string;
  readonly isTyped: boolean;
  readonly choices: readonly string[] | undefined;
  readonly isNumber: boolean;
  readonly onCancel: () => void;
  readonly onCommit: (text: string, next?: 'down' | 'next' | 'previous') => void;
  readonly onPasteBlock: ((text: string) => void) | undefined;
}

/** The field in a cell. Commits once: at Enter, at Tab, or when it is left. */
function CellEditor({
  label,
  text,
  isTyped,
  choices,
  isNumber,
  onCancel,
  onCommit,
  onPasteBlock,
}: CellEditorProps) {
  const is_done = useRef(false);
  const input = useRef<HTMLInputElement & HTMLSelectElement>(null);
  useEffect(() => {
    is_done.current = false;
    input.current?.focus();
    // What is typed next goes on after the typed text, and replaces the text of the cell.
    input.current?.setSelectionRange?.(isTyped ? text.length : 0, text.length);
  }, [text, isTyped]);
  const finish = (act: () => void) => {
    if (is_done.current) return;
    is_done.current = true;
    act();
  };
  const common = {
    ref: input,
    'aria-label': label,
    className: isNumber ? 'cell-input number' : 'cell-input',
    defaultValue: text,
    dir: 'auto',
    onBlur: ({ target }: { target: HTMLInputElement | HTMLSelectElement }) =>
      finish(() => onCommit(target.value)),
    onKeyDown: (event: KeyboardEvent<HTMLInputElement | HTMLSelectElement>) => {
      const { value } = event.currentTarget;
      // While a word is composed, Enter belongs to the input method.
      if (event.nativeEvent.isComposing) return;
      if (event.key === 'Enter') finish(() => onCommit(value, 'down'));
      else if (event.key === 'Tab') finish(() => onCommit(value, event.shiftKey ? 'previous' : 'next'));
      else if (event.key === 'Escape') finish(onCancel);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  } as const;
  if (choices)
    return (
      <select {...common}>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  return (
    <input
      {...common}
      autoComplete="off"
      inputMode={isNumber ? 'decimal' : 'text'}
      onPaste={(event) => {
        const pasted = event.clipboardData.getData('text/plain');
        if (!onPasteBlock || !/[\t\n]/.test(pasted.trimEnd())) return;
        event.preventDefault();
        finish(() => onPasteBlock(pasted));
      }}
    />
  );
}
