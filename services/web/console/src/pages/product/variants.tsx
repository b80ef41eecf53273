import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type ClipboardEvent,
  type KeyboardEvent,
  memo,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { isSame } from '../../lib/draft';
import { formatMoney, formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { say } from '../../ui/feedback';
import { Checkbox, SearchField, Select } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { Thumb } from '../../ui/thumb';
import { parseBlock } from '../products/block';
import { BulkDialog } from './bulk-dialog';
import { type Editing, useDerived, useEditing, useOtherCurrencies } from './editing';
import { CELLS, cellChange, cellField, type Fields, namedIn, type PriceField } from './fields';
import { type DraftOption, isNew, type Row, rowName, undoRemoval, usedOptions } from './matrix';
import {
  type CellKind,
  COLUMNS,
  parseCell,
  priceColumns,
  shownCell,
  type VariantColumn,
} from './variant-columns';
import { VariantDialog } from './variant-dialog';

/** From this many variants on, a search above them filters them. */
const FILTER_FROM = 12;
const ROW_PIXELS = 44;
const CARD_PIXELS = 112;
/** With labels of two lines. */
const PRICE_CARD_PIXELS = 130;
const FAULT_PIXELS = 22;

/** A line of the table: the head of a group of variants with the same first value, or a variant. */
type Line =
  | { readonly type: 'group'; readonly key: string; readonly name: string; readonly rows: readonly Row[] }
  | { readonly type: 'row'; readonly key: string; readonly row: Row; readonly name: string };

const phone = matchMedia('(max-width: 700px)');
const useIsPhone = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      phone.addEventListener('change', listener);
      return () => phone.removeEventListener('change', listener);
    },
    () => phone.matches,
  );

/** The variants as a table to type and paste into. Only the lines in sight are drawn, because there may be 2,048. */
export function Variants() {
  const t = useTexts();
  const locale = useLocale();
  const { values, change, faults, pictures } = useEditing();
  const [filter, setFilter] = useState('');
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [edited, setEdited] = useState<string>();
  const [is_bulk, setBulk] = useState(false);
  const is_phone = useIsPhone();
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, choose] = useState<string>();
  const others = useOtherCurrencies();
  const derivedOf = useDerived();
  const { rows, price_currency } = values;
  /** Undefined: the columns of all fields, in the currency of the product. */
  const other = others.find((each) => each === chosen);
  const currency = other ?? price_currency;
  const all_columns = useMemo(() => (other ? priceColumns(other) : COLUMNS), [other]);
  const options = useMemo(() => usedOptions(values.options), [values.options]);
  const named = useMemo(() => rows.map((row) => ({ row, name: rowName(row, options) })), [rows, options]);
  const wanted = filter.trim().toLocaleLowerCase();
  const matching = wanted
    ? named.filter(({ row, name }) =>
        `${name} ${String(values[cellField(row.key, 'sku')] ?? '')}`.toLocaleLowerCase().includes(wanted),
      )
    : named;
  const lines = linesOf(matching, options, closed);
  const fault_keys = useMemo(
    () => new Set(Object.keys(faults).map((field) => /^variants\/(.*)\/\w+$/.exec(field)?.[1])),
    [faults],
  );
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => {
      const line = lines[index]!;
      if (line.type === 'group') return ROW_PIXELS;
      const card_pixels = other ? PRICE_CARD_PIXELS : CARD_PIXELS;
      return (is_phone ? card_pixels : ROW_PIXELS) + (fault_keys.has(line.key) ? FAULT_PIXELS : 0);
    },
    getItemKey: (index) => lines[index]!.key,
    overscan: 6,
    // The head covers the top of the table.
    scrollPaddingStart: ROW_PIXELS,
  });
  // The heights depend on these.
  useEffect(() => virtual.measure(), [is_phone, fault_keys, other]);
  // Only new faults move the table.
  useEffect(() => {
    const index = lines.findIndex(({ key }) => fault_keys.has(key));
    if (index !== -1) virtual.scrollToIndex(index, { align: 'center' });
  }, [fault_keys]);

  const focusCell = (index: number, cell: string) => {
    const line = lines[index];
    if (line?.type !== 'row') return;
    virtual.scrollToIndex(index);
    requestAnimationFrame(() => {
      const input = scroller.current?.querySelector<HTMLInputElement>(
        `[data-cell="${CSS.escape(`${line.key}/${cell}`)}"]`,
      );
      input?.focus();
      input?.select();
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' || event.key === 'Enter' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const place = placeOf(event.target, lines);
    if (by === 0 || !place) return;
    event.preventDefault();
    let next = place.index + by;
    while (lines[next]?.type === 'group') next += by;
    focusCell(next, place.cell);
  };
  const onPaste = (event: ClipboardEvent) => {
    const block = parseBlock(event.clipboardData.getData('text'));
    const place = placeOf(event.target, lines);
    const is_one_cell = block.length === 1 && block[0]!.length === 1;
    if (!place || is_one_cell) return;
    event.preventDefault();
    const column = all_columns.findIndex(({ cell }) => cell === place.cell);
    const below = lines.slice(place.index).filter((line) => line.type === 'row');
    const given: Record<string, unknown> = {};
    let refused = 0;
    const pasted = block.slice(0, below.length);
    for (const [index, line] of pasted.entries())
      for (const [offset, value] of line.entries()) {
        const target = all_columns[column + offset];
        if (!target) continue;
        const parsed = parseCell(target.kind, value, currency);
        if (parsed === undefined) refused += 1;
        else given[cellField(below[index]!.key, target.cell)] = parsed;
      }
    changeCells(
      given,
      `${t.product.pasted(pasted.length)}${refused ? ` ${t.product.notUnderstood(refused)}` : ''}`,
    );
  };
  /** Changes many cells. The undo keeps cells that were changed again. */
  const changeCells = (given: Record<string, unknown>, text: string) => {
    const before = Object.fromEntries(
      Object.keys(given).map((field) => [field, values[field as keyof Fields] ?? null]),
    );
    change(given as Partial<Fields>);
    say(text, () =>
      change((now) => {
        const kept = Object.keys(given).filter((field) => isSame(now[field as keyof Fields], given[field]));
        return Object.fromEntries(kept.map((field) => [field, before[field]])) as Partial<Fields>;
      }),
    );
  };
  const select = (keys: readonly string[], is_selected: boolean) =>
    setSelected((now) => {
      const next = new Set(now);
      for (const key of keys) is_selected ? next.add(key) : next.delete(key);
      return next;
    });
  const selection = rows.filter(({ key }) => selected.has(key));
  const remove = (keys: ReadonlySet<string>) => {
    const left = rows.filter(({ key }) => !keys.has(key));
    change((now) => ({ rows: now.rows.filter(({ key }) => !keys.has(key)) }));
    setSelected(new Set());
    say(t.product.variantsRemoved(keys.size), () =>
      change((now) => undoRemoval(values, { options: values.options, rows: left }, now)),
    );
  };
  const price = all_columns.find(({ kind }) => kind === 'money')!.cell as 'price_amount';
  /** What the variant has if nothing is typed: a new one the price of the product, another one what the service derives. */
  const fallbackOf = (row: Row, { cell }: VariantColumn): number | null => {
    if (isNew(row)) return cell === price ? (values[price] ?? null) : null;
    const is_set = typeof values[cellField(row.key, price)] === 'number';
    return (!is_set && derivedOf(cell as PriceField, row.key)) || null;
  };
  const columns = is_phone ? all_columns.filter(({ isInCard }) => isInCard) : all_columns;
  if (rows.length === 0) return null;
  return (
    <>
      <div className="row spread variant-bar">
        {rows.length >= FILTER_FROM && (
          <SearchField label={t.product.filterVariants} value={filter} onChange={setFilter} />
        )}
        {selection.length > 0 ? (
          <div className="row" role="toolbar" aria-label={t.product.selected(selection.length)}>
            <span className="small muted">{t.product.selected(selection.length)}</span>
            <Button icon="edit" onPress={() => setBulk(true)}>
              {t.product.changeSelected}
            </Button>
            <Button icon="trash" onPress={() => remove(new Set(selection.map(({ key }) => key)))}>
              {t.common.delete}
            </Button>
            <Button kind="quiet" onPress={() => setSelected(new Set())}>
              {t.product.selectNone}
            </Button>
          </div>
        ) : (
          <span className="small muted">{t.product.variantCount(matching.length)}</span>
        )}
        {others.length > 0 && (
          <Select
            label={t.currencies.shown}
            hideLabel
            value={currency}
            onChange={choose}
            options={[price_currency, ...others].map((id) => ({ id, label: id }))}
          />
        )}
      </div>
      {rows.some(({ key }) => derivedOf(price as PriceField, key) !== undefined) && (
        <p className="muted small">{t.currencies.derivedNote(price_currency)}</p>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: The keys belong to the inputs inside. */}
      <div
        ref={scroller}
        className={other ? 'variants prices' : 'variants'}
        style={{ maxHeight: is_phone ? '70vh' : 600 }}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      >
        <table aria-label={t.product.variants} aria-rowcount={matching.length + 1}>
          <thead>
            <tr className="variant-line variant-head" aria-rowindex={1}>
              <td>
                <Checkbox
                  aria-label={t.product.selectAll}
                  isSelected={selection.length > 0 && selection.length >= matching.length}
                  isIndeterminate={selection.length > 0 && selection.length < matching.length}
                  onChange={(is_selected) =>
                    select(
                      matching.map(({ row }) => row.key),
                      is_selected,
                    )
                  }
                >
                  <span className="phone-only">{t.product.selectAll}</span>
                </Checkbox>
              </td>
              <th>{t.product.variant}</th>
              {columns.map(({ cell, kind }) => (
                <th key={cell} className={kind === 'text' ? '' : 'number'}>
                  {namedIn(t.product.cells, cell)}
                </th>
              ))}
              {!other && <th>{t.product.cells.allow_backorder}</th>}
              <th>
                <span className="visually-hidden">{t.common.edit}</span>
              </th>
            </tr>
          </thead>
          <tbody style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ key, index, start, size }) => {
              const line = lines[index]!;
              const style = { position: 'absolute', insetInline: 0, top: start, height: size } as const;
              if (line.type === 'group') {
                const keys = line.rows.map((row) => row.key);
                const count = keys.filter((each) => selected.has(each)).length;
                const is_closed = closed.has(line.key);
                return (
                  <tr key={key} className="variant-line variant-group" style={style}>
                    <td>
                      <Checkbox
                        aria-label={t.product.selectNamed(line.name)}
                        isSelected={count === keys.length}
                        isIndeterminate={count > 0 && count < keys.length}
                        onChange={(is_selected) => select(keys, is_selected)}
                      />
                    </td>
                    <td className="group-name">
                      <button
                        type="button"
                        aria-expanded={!is_closed}
                        onClick={() =>
                          setClosed((now) => {
                            const next = new Set(now);
                            is_closed ? next.delete(line.key) : next.add(line.key);
                            return next;
                          })
                        }
                      >
                        <Icon name={is_closed ? 'chevronRight' : 'chevronDown'} />
                        <strong dir="auto">{line.name}</strong>
                        <span className="muted small">
                          {groupSummary(line.rows, values, other, locale, t.product.groupSummary, derivedOf)}
                        </span>
                      </button>
                    </td>
                  </tr>
                );
              }
              const cells = fault_keys.has(line.key)
                ? [...CELLS, ...others.flatMap(priceColumns).map(({ cell }) => cell)]
                : [];
              const row_faults = cells.flatMap((cell) => {
                const fault = faults[cellField(line.key, cell)];
                return fault ? [`${namedIn(t.product.cells, cell)}: ${fault}`] : [];
              });
              const media_id = values[cellField(line.key, 'media_id')] as string | null | undefined;
              return (
                <tr key={key} className="variant-line" style={style} aria-rowindex={index + 2}>
                  <td>
                    <Checkbox
                      aria-label={t.product.selectNamed(line.name)}
                      isSelected={selected.has(line.key)}
                      onChange={(is_selected) => select([line.key], is_selected)}
                    />
                  </td>
                  <td className="variant-name">
                    <button
                      type="button"
                      aria-label={t.product.editVariant(line.name)}
                      onClick={() => setEdited(line.key)}
                    >
                      <Thumb media={media_id ? pictures.get(media_id) : undefined} size={28} />
                      <span dir="auto" className="truncate">
                        {line.name}
                      </span>
                    </button>
                  </td>
                  {columns.map((column) => (
                    <VariantCell
                      key={column.cell}
                      id={line.key}
                      column={column}
                      label={t.product.cellOf(namedIn(t.product.cells, column.cell), line.name)}
                      caption={namedIn(t.product.cells, column.cell)}
                      value={values[cellField(line.key, column.cell)] as string | number | null | undefined}
                      fallback={fallbackOf(line.row, column)}
                      currency={currency}
                      locale={locale}
                      isInvalid={cellField(line.key, column.cell) in faults}
                      onChange={change}
                    />
                  ))}
                  {!other && (
                    <td className="backorder">
                      <Checkbox
                        aria-label={t.product.cellOf(t.product.cells.allow_backorder, line.name)}
                        isSelected={values[cellField(line.key, 'allow_backorder')] === true}
                        onChange={(is_on) => change(cellChange(line.key, 'allow_backorder', is_on))}
                      />
                    </td>
                  )}
                  <td className="variant-more">
                    <IconButton
                      label={t.product.moreOf(line.name)}
                      icon="more"
                      onPress={() => setEdited(line.key)}
                    />
                  </td>
                  {row_faults.length > 0 && <td className="fault row-fault">{row_faults.join(' · ')}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {edited && (
        <VariantDialog
          row={rows.find(({ key }) => key === edited)}
          name={named.find(({ row }) => row.key === edited)?.name ?? ''}
          onClose={() => setEdited(undefined)}
          onRemove={() => {
            remove(new Set([edited]));
            setEdited(undefined);
          }}
        />
      )}
      {is_bulk && (
        <BulkDialog rows={selection} currency={other} onChange={changeCells} onClose={() => setBulk(false)} />
      )}
    </>
  );
}

function linesOf(
  named: readonly { readonly row: Row; readonly name: string }[],
  options: readonly DraftOption[],
  closed: ReadonlySet<string>,
): Line[] {
  const asLine = ({ row, name }: { row: Row; name: string }): Line => ({
    type: 'row',
    key: row.key,
    row,
    name,
  });
  const [first] = options;
  if (!first || options.length < 2) return named.map(asLine);
  return first.values.flatMap((value) => {
    const members = named.filter(({ row }) => row.of[first.id] === value.id);
    if (members.length === 0) return [];
    const key = `group ${value.id}`;
    const head: Line = { type: 'group', key, name: value.name, rows: members.map(({ row }) => row) };
    return closed.has(key) ? [head] : [head, ...members.map(asLine)];
  });
}

/** Returns the line and the column of the cell that an event is about. */
function placeOf(target: EventTarget, lines: readonly Line[]): { index: number; cell: string } | undefined {
  const address = target instanceof HTMLInputElement ? target.dataset.cell : undefined;
  if (!address) return undefined;
  const slash = address.lastIndexOf('/');
  const index = lines.findIndex(({ key }) => key === address.slice(0, slash));
  return index === -1 ? undefined : { index, cell: address.slice(slash + 1) };
}

function groupSummary(
  rows: readonly Row[],
  values: Fields,
  other: string | undefined,
  locale: string,
  words: (count: number, prices: string, stock: string | undefined) => string,
  derivedOf: ReturnType<typeof useDerived>,
): string {
  let [min, max, stock] = [Number.POSITIVE_INFINITY, 0, 0];
  let is_tracked = true;
  for (const { key } of rows) {
    const price = other
      ? (values[cellField(key, `price_amount_${other}`)] ?? derivedOf(`price_amount_${other}`, key))
      : (values[cellField(key, 'price_amount')] ?? values.price_amount ?? 0);
    const units = values[cellField(key, 'quantity_available')] as number | null | undefined;
    if (typeof price === 'number') {
      min = Math.min(min, price);
      max = Math.max(max, price);
    }
    if (typeof units === 'number') stock += units;
    else is_tracked = false;
  }
  const prices = min > max ? [] : [...new Set([min, max])];
  return words(
    rows.length,
    prices.map((price) => formatMoney(price, other ?? values.price_currency, locale)).join(' – ') || '–',
    is_tracked ? formatNumber(stock, locale) : undefined,
  );
}

interface VariantCellProps {
  /** The key of the variant. */
  readonly id: string;
  readonly column: VariantColumn;
  readonly label: string;
  /** What a card on a phone shows above the cell. */
  readonly caption: string;
  readonly value: string | number | null | undefined;
  /** The value that the variant gets if none is typed. */
  readonly fallback: number | null;
  readonly currency: string;
  readonly locale: string;
  readonly isInvalid: boolean;
  readonly onChange: Editing['change'];
}

/** A cell draws and keeps each key at once. The rest of the page follows when the typing pauses. */
const VariantCell = memo(function VariantCell(props: VariantCellProps) {
  const { id, column, label, caption, value, fallback, currency, locale, isInvalid, onChange } = props;
  const { cell, kind } = column;
  const shown = shownCell(kind, value, currency, locale);
  /** What is typed, while the cell has the focus. */
  const [text, setText] = useState<string>();
  const typing = useRef({ timer: 0, reported: value });
  const report = (typed: string | undefined) => {
    clearTimeout(typing.current.timer);
    const parsed = typed === undefined ? undefined : parseCell(kind, typed, currency);
    if (parsed === undefined || parsed === (value ?? null)) return;
    typing.current.reported = parsed;
    onChange(cellChange(id, cell, parsed));
  };
  useEffect(() => {
    // A paste or another window has changed the value meanwhile.
    if (value !== typing.current.reported) setText((now) => (now === undefined ? now : shown));
    typing.current.reported = value;
  }, [value, shown]);
  return (
    <td className="variant-cell">
      <span className="card-label" aria-hidden="true">
        {caption}
      </span>
      <input
        className={kind === 'text' ? 'input' : 'input number'}
        aria-label={label}
        aria-invalid={
          isInvalid || (text !== undefined && parseCell(kind, text, currency) === undefined) || undefined
        }
        data-cell={`${id}/${cell}`}
        dir={kind === 'text' ? 'auto' : undefined}
        inputMode={INPUT_MODES[kind]}
        autoComplete="off"
        placeholder={shownCell(kind, fallback, currency, locale)}
        value={text ?? shown}
        onFocus={() => setText(shown)}
        onBlur={() => {
          report(text);
          setText(undefined);
        }}
        onKeyDown={({ ctrlKey, metaKey }) => {
          // Such as to save.
          if (ctrlKey || metaKey) report(text);
        }}
        onChange={({ target }) => {
          setText(target.value);
          const parsed = parseCell(kind, target.value, currency);
          if (parsed !== undefined) onChange(cellChange(id, cell, parsed), false);
          clearTimeout(typing.current.timer);
          typing.current.timer = window.setTimeout(() => report(target.value), PAUSE_MS);
        }}
      />
    </td>
  );
});

/** A pause in the typing. */
const PAUSE_MS = 150;
const INPUT_MODES = { text: 'text', money: 'decimal', number: 'numeric' } as const satisfies Record<
  CellKind,
  string
>;
