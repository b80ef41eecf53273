import { useState } from 'react';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { MoneyField, NumberField, Select, TextField } from '../../ui/fields';
import { Dialog } from '../../ui/overlay';
import { useEditing } from './editing';
import { type CellName, type Cells, cellField, namedIn, partOf } from './fields';
import { type Row, usedOptions, valueNames } from './matrix';
import { priceColumns } from './variant-columns';
import { PicturePicker } from './variant-dialog';

const CHANGEABLE = [
  'price_amount',
  'quantity_available',
  'sku',
  'media_id',
  'compare_at_amount',
  'sale_price_amount',
  'weight_grams',
  'allow_backorder',
] as const satisfies readonly (keyof Cells)[];

interface BulkDialogProps {
  readonly rows: readonly Row[];
  /** Sets prices in this currency. Undefined: any field. */
  readonly currency: string | undefined;
  readonly onChange: (cells: Record<string, unknown>, text: string) => void;
  readonly onClose: () => void;
}

/** Sets one field of many variants. */
export function BulkDialog({ rows, currency, onChange, onClose }: BulkDialogProps) {
  const t = useTexts();
  const { values } = useEditing();
  const options = usedOptions(values.options);
  const cells = currency ? priceColumns(currency).map((column) => column.cell) : CHANGEABLE;
  const [cell, setCell] = useState<CellName>(cells[0]!);
  const [value, setValue] = useState<string | number | boolean | null>(null);
  const [pattern, setPattern] = useState(options.map(({ name }) => `{${name}}`).join('-'));
  const label = namedIn(t.product.cells, cell);
  const apply = () => {
    const given = Object.fromEntries(
      rows.map((row, index) => [
        cellField(row.key, cell),
        cell === 'sku' ? filledIn(pattern, { ...valueNames(row, options), n: String(index + 1) }) : value,
      ]),
    );
    onChange(given, t.product.variantsChanged(rows.length));
    onClose();
  };
  return (
    <Dialog
      title={t.product.changeCount(rows.length)}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button kind="primary" onPress={apply}>
            {t.product.apply}
          </Button>
        </>
      }
    >
      <Select
        label={t.product.fieldToChange}
        value={cell}
        options={cells.map((id) => ({ id, label: namedIn(t.product.cells, id) }))}
        onChange={(id) => {
          setCell(id as CellName);
          setValue(id === 'allow_backorder' ? true : null);
        }}
      />
      {cell === 'sku' && (
        <TextField
          label={t.product.pattern}
          hint={t.product.patternHint}
          value={pattern}
          onChange={setPattern}
        />
      )}
      {cell === 'media_id' && <PicturePicker value={value as string | null} onChange={setValue} />}
      {partOf(cell).endsWith('_amount') && (
        <MoneyField
          label={label}
          currency={currency ?? values.price_currency}
          value={value as number | null}
          onChange={setValue}
        />
      )}
      {(cell === 'quantity_available' || cell === 'weight_grams') && (
        <NumberField label={label} value={value as number | null} onChange={setValue} />
      )}
      {cell === 'allow_backorder' && (
        <Select
          label={label}
          value={String(value)}
          options={[
            { id: 'true', label: t.common.yes },
            { id: 'false', label: t.common.no },
          ]}
          onChange={(id) => setValue(id === 'true')}
        />
      )}
    </Dialog>
  );
}

/** Returns the pattern with the values in braces, without white space: `TEE-{Size}` becomes `TEE-XL`. */
const filledIn = (pattern: string, values: Readonly<Record<string, string>>): string =>
  pattern.replace(/\{([^}]+)\}/g, (_, name: string) => values[name.trim()] ?? '').replace(/\s+/g, '-');
