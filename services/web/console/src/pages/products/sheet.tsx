import type { Publication } from 'catalog-client';
import { useMemo, useRef, useState } from 'react';
import { useApi } from '../../lib/api';
import { isSame } from '../../lib/draft';
import { readStored, useStored } from '../../lib/stored';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { ErrorState, ProgressBar, say, sayError } from '../../ui/feedback';
import { Page } from '../../ui/layout';
import { useSheetColumns } from './columns';
import { bodyOf, changesOf, type Field, faultOf, fieldValue, parseField, reasonOf, textOf } from './fields';
import { type CellEdits, type CellText, cellKey, Grid } from './grid';
import { JobBanner } from './job-banner';
import { type Target, useTarget } from './selection';
import { perform, readProducts, startJob, useJob } from './work';

/** A cell that was changed: the text, and the saved value when it was changed first. */
interface Cell {
  readonly text: string;
  readonly base: unknown;
}
type Cells = Readonly<Record<string, Cell>>;

/** What was typed into the sheet and is not saved. The browser keeps it. */
export function useSheetDraft() {
  const { store_id } = useApi();
  const key = `draft/${store_id}/sheet`;
  const [cells, setCells] = useStored<Cells>(key, NO_CELLS);
  const ids = [...new Set(Object.keys(cells).map((key) => key.split(' ')[0]!))];
  const write = (next: Cells) => setCells(Object.keys(next).length > 0 ? next : undefined);
  /** Returns the cells as they are now, also after the component was drawn. */
  const readNow = () => readStored<Cells>(key) ?? NO_CELLS;
  return { cells, ids, write, readNow };
}
const NO_CELLS: Cells = {};

/** Many products as a spreadsheet. Changes are kept until they are saved together. */
export function Sheet({ target, onClose }: { readonly target: Target; readonly onClose: () => void }) {
  const t = useTexts();
  const locale = useLocale();
  const { client, store_id } = useApi();
  const { products, setProducts, done, error } = useTarget(target);
  const { cells, ids, write, readNow } = useSheetDraft();
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const history = useRef<Cells[]>([]);
  const columns = useSheetColumns();
  const is_running = useJob()?.state === 'running';

  const edits = useMemo(() => {
    const by_key: Record<string, CellEdits[string]> = {};
    for (const product of products ?? [])
      for (const { id: field } of columns) {
        const key = cellKey(product.id, field);
        const cell = cells[key];
        if (!cell) continue;
        const parsed = parseField(field, cell.text, product.price_currency, t);
        const fault = 'fault' in parsed ? parsed.fault : faults[key];
        by_key[key] = fault
          ? { text: cell.text, state: 'refused', fault }
          : { text: cell.text, state: 'changed' };
      }
    return by_key;
  }, [products, columns, cells, faults, t]);

  const commit = (texts: readonly CellText<Publication>[]) => {
    history.current.push(cells);
    const next = { ...cells };
    const kept_faults = { ...faults };
    for (const { item, column, text } of texts) {
      const field = column as Field;
      const key = cellKey(item.id, column);
      const parsed = parseField(field, text, item.price_currency, t);
      delete kept_faults[key];
      if ('value' in parsed && isSame(parsed.value, fieldValue(item, field))) delete next[key];
      else next[key] = { text, base: next[key] ? next[key].base : fieldValue(item, field) };
    }
    setFaults(kept_faults);
    write(next);
  };
  const undo = () => {
    const before = history.current.pop();
    if (before) write(before);
  };

  /** The values of the product's changed cells that can be saved, with the value that each replaces. */
  const changedOf = (product: Publication) =>
    columns.flatMap(({ id: field }) => {
      const cell = cells[cellKey(product.id, field)];
      const parsed = cell && parseField(field, cell.text, product.price_currency, t);
      return parsed && 'value' in parsed ? [{ field, value: parsed.value, base: cell.base }] : [];
    });
  const save = async () => {
    const changed = (products ?? []).filter((product) => changedOf(product).length > 0).map(({ id }) => id);
    const elsewhere = new Set<string>();
    const decide = (product: Publication) => {
      const values = changedOf(product).filter(({ field, value, base }) => {
        const is_elsewhere = ![base, value].some((each) => isSame(each, fieldValue(product, field)));
        if (is_elsewhere) elsewhere.add(cellKey(product.id, field));
        return !is_elsewhere;
      });
      return changesOf(
        product,
        bodyOf(product, Object.fromEntries(values.map(({ field, value }) => [field, value]))),
      );
    };
    const outcome = await startJob({ client, store_id }, t.products.sheetSaved, changed.length, (following) =>
      perform(client, changed, decide, following),
    );
    const fresh = new Map((await readProducts(client, changed)).map((product) => [product.id, product]));
    // Cells may have been typed since the press.
    const next = { ...readNow() };
    const found: Record<string, string> = {};
    for (const id of changed) {
      const product = fresh.get(id);
      const failure = outcome.failed.find((each) => each.id === id);
      const fields = columns.map(({ id: field }) => field).filter((field) => next[cellKey(id, field)]);
      for (const field of fields) {
        const key = cellKey(id, field);
        const { text } = next[key]!;
        if (!product) {
          found[key] = t.errors.notFound;
          continue;
        }
        const value = fieldValue(product, field);
        const isSaved = (typed: string | undefined) => {
          const parsed = typed !== undefined && parseField(field, typed, product.price_currency, t);
          return parsed && 'value' in parsed && isSame(parsed.value, value);
        };
        if (isSaved(text)) delete next[key];
        else if (isSaved(cells[key]?.text)) next[key] = { text, base: value };
        else if (elsewhere.has(key)) {
          next[key] = { text, base: value };
          found[key] = t.products.changedElsewhere(textOf(product, field, t, locale));
        } else if (failure && text === cells[key]?.text) {
          const has_place = fields.some((each) => faultOf(failure.error, each, t));
          const fault =
            faultOf(failure.error, field, t) ?? (has_place ? undefined : reasonOf(failure.error, t));
          if (fault) found[key] = fault;
        }
      }
    }
    history.current = [];
    setFaults(found);
    write(next);
    setProducts((before) => before?.map((product) => fresh.get(product.id) ?? product));
  };

  const refused = Object.values(edits).filter((edit) => edit?.state === 'refused').length;
  const count = Object.keys(cells).length;
  const discard = () => {
    write({});
    setFaults({});
    say(t.products.discarded, () => write(cells));
  };
  return (
    <Page
      title={t.products.sheet}
      state={<span className="muted">{t.products.count(products?.length ?? target.count)}</span>}
      actions={
        <>
          <Button onPress={onClose}>{t.common.close}</Button>
          <Button onPress={discard} isDisabled={count === 0 || is_running}>
            {t.common.discard}
          </Button>
          <Button
            kind="primary"
            isDisabled={count === 0 || !products}
            isPending={is_running}
            onPress={() => void save().catch((reason) => sayError(reason, t))}
          >
            {t.common.save}
          </Button>
        </>
      }
    >
      <div className="products">
        <JobBanner />
        <p className="small muted" role="status">
          {count > 0 ? t.products.cellsChanged(count, ids.length) : t.products.sheetHint}
          {refused > 0 && <strong className="bad-text"> {t.products.cellsRefused(refused)}</strong>}
        </p>
        {error !== undefined ? (
          <ErrorState error={error} />
        ) : products ? (
          <Grid
            label={t.products.sheet}
            isSheet
            columns={columns}
            count={products.length}
            itemAt={(index) => products[index]}
            nameOf={({ title }) => title}
            edits={edits}
            onCommit={commit}
            onUndo={undo}
            onLost={(rows) => say(t.products.rowsLost(rows))}
          />
        ) : (
          <ProgressBar label={t.products.reading} done={done} total={target.count} />
        )}
      </div>
    </Page>
  );
}
