import { useQueryClient } from '@tanstack/react-query';
import type { Publication } from 'catalog-client';
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Dialog, DialogTrigger, Popover } from 'react-aria-components';
import { useLocation, useSearch } from 'wouter';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { formatNumber } from '../../lib/format';
import { useStore } from '../../lib/languages';
import { useStored } from '../../lib/stored';
import { useTyping } from '../../lib/typing';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton, LinkButton } from '../../ui/button';
import { Banner, EmptyState, ErrorState, Loading, say, sayError, sayFailed } from '../../ui/feedback';
import { Checkbox, SearchField, Select } from '../../ui/fields';
import { Page } from '../../ui/layout';
import { Menu, type MenuAction } from '../../ui/overlay';
import { ACTIONS, type ActionKind, BulkDialog } from './bulk';
import { CARD_COLUMNS, COLUMN_IDS, COLUMNS_SHOWN, type ColumnId, SORTS, useColumns } from './columns';
import { type Body, bodyOf, changesOf, type Field, faultOf, parseField, reasonOf } from './fields';
import { ActiveFilters, FilterButton, ownFiltersOf, useListingChoices } from './filters';
import { type CellEdit, type CellText, cellKey, Grid } from './grid';
import { JobBanner } from './job-banner';
import { filtersOf, selectionOf, withValues } from './query';
import {
  countOf,
  EVERYTHING,
  isSelected,
  NOTHING,
  type Selection,
  type Target,
  withSelected,
} from './selection';
import { Sheet, useSheetDraft } from './sheet';
import { type Range, useProducts } from './use-products';
import { Views } from './views';
import { perform, takeBack, useJob } from './work';
import './products.css';

const PHONE = matchMedia('(max-width: 600px)');

const usePhone = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      PHONE.addEventListener('change', listener);
      return () => PHONE.removeEventListener('change', listener);
    },
    () => PHONE.matches,
  );

/** The parameters of the address, and a function that writes some of them. */
function useParams() {
  const search = useSearch();
  const [, navigate] = useLocation();
  const params = useMemo(() => new URLSearchParams(location.search), [search]);
  const setValues = useCallback(
    (name: string, values: readonly string[], options: { readonly replace?: boolean } = {}) => {
      // Read again, because several parameters may be written before the page is drawn.
      const next = withValues(new URLSearchParams(location.search), name, values).toString();
      navigate(next === '' ? '/products' : `/products?${next}`, options);
    },
    [navigate],
  );
  return { params, setValues };
}

type SetValues = ReturnType<typeof useParams>['setValues'];

export default function ProductsPage(_: { readonly id: string }) {
  const [target, setTarget] = useState<Target>();
  return target ? (
    <Sheet target={target} onClose={() => setTarget(undefined)} />
  ) : (
    <List onSheet={setTarget} />
  );
}

function List({ onSheet }: { readonly onSheet: (target: Target) => void }) {
  const t = useTexts();
  const { client, may } = useApi();
  const may_write = may('write:publications');
  const queries = useQueryClient();
  const { params, setValues } = useParams();
  const [, navigate] = useLocation();
  const is_phone = usePhone();
  const locale = useLocale();
  const filters = useMemo(() => filtersOf(params), [params]);
  const chosen = selectionOf(params);
  const is_deleted = filters.visibility === 'deleted';
  const language = filters.untranslated ? `?language=${filters.untranslated}` : '';
  const [range, setRange] = useState<Range>({ first: 0, last: 0 });
  const { itemAt, count, isLoading, isStale, error, retry, examples } = useProducts(filters, range);
  const listings = useListingChoices();
  const names = useMemo(() => new Map(listings.map(({ id, name }) => [id, name])), [listings]);
  const { data: store } = useStore();
  const own = useMemo(() => ownFiltersOf(examples, params), [examples, params]);
  const [selection, setSelection] = useState<Selection>(NOTHING);
  useEffect(() => setSelection(NOTHING), [chosen]);
  const selected = countOf(selection, count);
  const [action, setAction] = useState<{ readonly kind: ActionKind; readonly target: Target }>();
  const is_running = useJob()?.state === 'running';

  const refresh = useCallback(
    () => queries.invalidateQueries({ queryKey: ['publications', 'page'] }),
    [queries],
  );
  const { edits, commit } = useInlineEdits(refresh);
  const restore = useCallback(
    async ({ id, title }: Publication) => {
      try {
        await client.publications.restore(id);
        await refresh();
        say(t.products.restored(title), async () => {
          await client.publications.delete(id);
          await refresh();
        });
      } catch (failure) {
        sayError(failure, t);
      }
    },
    [client, refresh, t],
  );
  const all_columns = useColumns(names, language, may_write ? restore : undefined);
  const [shown, setShown] = useStored<readonly ColumnId[]>('columns/products', COLUMNS_SHOWN);
  const columns = all_columns.filter(
    ({ id }) => (is_phone ? CARD_COLUMNS : shown).includes(id) || id === 'title',
  );

  const sort = Object.entries(SORTS).find(([, name]) => name === params.get('sort'));
  const onSort = (column: string) => {
    const name = SORTS[column as keyof typeof SORTS];
    const is_reversed = params.get('order') !== null;
    // Once, then the other direction, then the newest first again.
    if (params.get('sort') !== name) {
      setValues('sort', [name]);
      setValues('order', [], { replace: true });
    } else if (!is_reversed) setValues('order', [name === 'rating' ? 'asc' : 'desc']);
    else {
      setValues('sort', []);
      setValues('order', [], { replace: true });
    }
  };
  const order = params.get('order') ?? (params.get('sort') === 'rating' ? 'desc' : 'asc');

  const targetOf = (of: Selection): Target => ({ filters, selection: of, count: countOf(of, count) });
  const itemOf = (kind: ActionKind): MenuAction => ({
    id: kind,
    label: t.products.actions[kind],
    onAction: () => setAction({ kind, target: targetOf(selection) }),
  });
  const clear = () => navigate('/products');
  const is_filtered = chosen !== '';
  const empty = is_deleted ? (
    <EmptyState icon="trash" title={t.products.noneDeleted} />
  ) : is_filtered ? (
    <EmptyState
      icon="search"
      title={t.products.noMatch}
      action={<Button onPress={clear}>{t.products.clearFilters}</Button>}
    />
  ) : (
    <EmptyState
      icon="product"
      title={t.products.none}
      action={
        <div className="row">
          <LinkButton href="/imports" icon="import">
            {t.products.importFile}
          </LinkButton>
          <LinkButton href="/products/new" kind="primary" icon="plus">
            {t.product.new}
          </LinkButton>
        </div>
      }
    >
      {t.products.noneHint}
    </EmptyState>
  );

  return (
    <Page
      title={t.products.title}
      state={
        !isLoading && (
          <span className="muted">{is_phone ? formatNumber(count, locale) : t.products.count(count)}</span>
        )
      }
      actions={
        <>
          {may_write && !is_phone && !is_deleted && count > 0 && (
            <Button icon="grid" onPress={() => onSheet(targetOf(selected > 0 ? selection : EVERYTHING))}>
              {t.products.sheet}
            </Button>
          )}
          {may_write && (
            <LinkButton href="/products/new" kind="primary" icon="plus">
              {t.product.new}
            </LinkButton>
          )}
        </>
      }
    >
      <div className="products">
        <JobBanner />
        <SheetDraftBanner onSheet={onSheet} />
        <Views params={params} />
        <div className="toolbar">
          {!is_deleted && (
            <>
              <Search q={params.get('q') ?? ''} setValues={setValues} />
              <FilterButton {...{ params, filters, setValues, own, listings }} currency={store?.currency} />
              <TableSettings
                columns={all_columns}
                shown={shown}
                onShow={setShown}
                sort={`${params.get('sort') ?? 'created_at'} ${params.get('order') ?? ''}`.trim()}
                setValues={setValues}
                hasColumns={!is_phone}
              />
            </>
          )}
        </div>
        <ActiveFilters {...{ params, setValues, listings }} currency={store?.currency} onClear={clear} />
        {selected > 0 && (
          <div className="selection-bar" role="toolbar" aria-label={t.products.selection}>
            <strong>{t.products.selectedCount(selected)}</strong>
            <Menu
              label={t.products.change}
              trigger={
                <Button icon="edit" isDisabled={is_running}>
                  {t.products.change}
                </Button>
              }
              items={[...ACTIONS.map(itemOf), '-', { ...itemOf('delete'), isDanger: true }]}
            />
            <IconButton label={t.products.unselect} icon="close" onPress={() => setSelection(NOTHING)} />
          </div>
        )}
        {error && count > 0 && (
          <Banner
            tone="bad"
            title={messageOf(error, t)}
            actions={<Button onPress={retry}>{t.common.tryAgain}</Button>}
          />
        )}
        {error && !isLoading && count === 0 ? (
          <ErrorState error={error} onRetry={retry} />
        ) : isLoading ? (
          <Loading lines={12} />
        ) : count === 0 ? (
          empty
        ) : (
          <div className={isStale ? 'grid-frame stale' : 'grid-frame'} aria-busy={isStale}>
            <Grid
              label={t.products.title}
              columns={columns}
              count={count}
              itemAt={itemAt}
              nameOf={({ title }) => title}
              edits={edits}
              onCommit={commit}
              onRange={setRange}
              onOpen={({ id, deleted_at }) =>
                deleted_at === undefined && navigate(`/products/${id}${language}`)
              }
              isCards={is_phone}
              startKey={params.toString()}
              sort={sort && { column: sort[0], order: order === 'desc' ? 'desc' : 'asc' }}
              {...(!is_deleted && { onSort })}
              {...(may_write &&
                !is_deleted && {
                  selection: {
                    isSelected: (id) => isSelected(selection, id),
                    isAll: selected === count,
                    isSome: selected > 0,
                    onSelect: (ids, is_on) => setSelection(withSelected(selection, ids, is_on)),
                    onSelectAll: (is_on) => setSelection(is_on ? EVERYTHING : NOTHING),
                  },
                })}
            />
          </div>
        )}
      </div>
      {action && (
        <BulkDialog
          {...action}
          onClose={() => setAction(undefined)}
          onStart={() => {
            setAction(undefined);
            setSelection(NOTHING);
          }}
        />
      )}
    </Page>
  );
}

const fieldOf = (column: string): Field => (column === 'status' ? 'visibility' : (column as Field));

/** Saves what is typed into cells of the table, each at once. A refused text stays in its cell with the reason. */
function useInlineEdits(refresh: () => Promise<unknown>) {
  const t = useTexts();
  const { client } = useApi();
  const [edits, setEdits] = useState<Readonly<Record<string, CellEdit>>>({});
  const waiting = useRef(Promise.resolve());
  const show = useCallback(
    (key: string, edit: CellEdit | undefined) =>
      setEdits(({ [key]: _, ...others }) => (edit ? { ...others, [key]: edit } : others)),
    [],
  );
  const save = useCallback(
    async (
      { id, title }: Publication,
      column: string,
      text: string,
      body: (product: Publication) => Body,
    ) => {
      const field = fieldOf(column);
      const key = cellKey(id, column);
      try {
        const { writes, failed } = await perform(client, [id], (product) =>
          changesOf(product, body(product)),
        );
        if (failed[0]) {
          const { error } = failed[0];
          return show(key, { text, state: 'refused', fault: faultOf(error, field, t) ?? reasonOf(error, t) });
        }
        await refresh();
        show(key, undefined);
        if (writes.length === 0) return;
        const undo = async () => {
          const { left } = await takeBack(client, writes);
          await refresh();
          if (left[0]) sayFailed(t.products.leftAlone(left[0].title));
        };
        say(t.products.fieldSaved(t.products.columns[field], title), undo, 'cell of a product');
      } catch (error) {
        show(key, { text, state: 'refused', fault: messageOf(error, t) });
      }
    },
    [client, refresh, show, t],
  );
  const commit = useCallback(
    ([cell]: readonly CellText<Publication>[]) => {
      if (!cell) return;
      const { item, column, text } = cell;
      const field = fieldOf(column);
      const parsed = parseField(field, text, item.price_currency, t);
      if ('fault' in parsed)
        return show(cellKey(item.id, column), { text, state: 'refused', fault: parsed.fault });
      show(cellKey(item.id, column), { text, state: 'saving' });
      const body = (product: Publication) => bodyOf(product, { [field]: parsed.value });
      // One after the other, because two cells may be of one product.
      waiting.current = waiting.current.then(() => save(item, column, text, body));
    },
    [save, show, t],
  );
  return { edits, commit };
}

/** The search. Only the field is drawn while somebody types. */
function Search({ q, setValues }: { readonly q: string; readonly setValues: SetValues }) {
  const t = useTexts();
  const [text, setText] = useTyping(q, (typed) => {
    setValues('q', [typed], { replace: true });
    // A search cannot be filtered by untranslated texts.
    if (typed !== '') setValues('untranslated', [], { replace: true });
  });
  return (
    <SearchField
      label={t.products.search}
      placeholder={t.products.searchHint}
      value={text}
      onChange={setText}
    />
  );
}

/** Offers to go on with changes of the spreadsheet that are not saved. */
function SheetDraftBanner({ onSheet }: { readonly onSheet: (target: Target) => void }) {
  const t = useTexts();
  const { ids, cells, write } = useSheetDraft();
  if (ids.length === 0) return null;
  const go = () =>
    onSheet({ filters: {}, selection: { isAll: false, ids: new Set(ids) }, count: ids.length });
  const discard = () => {
    write({});
    say(t.products.discarded, () => write(cells));
  };
  return (
    <Banner
      tone="warn"
      title={t.products.sheetDraft(Object.keys(cells).length, ids.length)}
      actions={
        <>
          <Button onPress={go}>{t.products.goOn}</Button>
          <Button kind="quiet" onPress={discard}>
            {t.common.discard}
          </Button>
        </>
      }
    />
  );
}

interface TableSettingsProps {
  readonly columns: readonly { readonly id: ColumnId; readonly label: string }[];
  readonly shown: readonly ColumnId[];
  readonly onShow: (shown: readonly ColumnId[]) => void;
  readonly sort: string;
  readonly setValues: SetValues;
  readonly hasColumns: boolean;
}

/** The order of the products, and the columns, which the browser keeps. */
function TableSettings({ columns, shown, onShow, sort, setValues, hasColumns }: TableSettingsProps) {
  const t = useTexts();
  return (
    <DialogTrigger>
      <Button icon="columns">{t.products.settings}</Button>
      <Popover className="popover" placement="bottom end">
        <Dialog aria-label={t.products.settings} className="settings">
          <Select
            label={t.products.sort}
            value={sort}
            onChange={(id) => {
              const [name = '', order = ''] = id.split(' ');
              setValues('sort', [name]);
              setValues('order', [order], { replace: true });
            }}
            options={Object.entries(t.products.sorts).map(([id, label]) => ({ id, label }))}
          />
          {hasColumns && (
            <fieldset className="stack tight">
              <legend className="label">{t.products.columnsLabel}</legend>
              {columns
                .filter(({ id }) => id !== 'title')
                .map(({ id, label }) => (
                  <Checkbox
                    key={id}
                    isSelected={shown.includes(id)}
                    onChange={(is_on) =>
                      onShow(COLUMN_IDS.filter((each) => (each === id ? is_on : shown.includes(each))))
                    }
                  >
                    {label}
                  </Checkbox>
                ))}
            </fieldset>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
