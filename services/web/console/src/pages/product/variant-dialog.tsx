import { ListBox, ListBoxItem } from 'react-aria-components';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Checkbox, MoneyField, NumberField, TextField } from '../../ui/fields';
import { FieldRow } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { Thumb } from '../../ui/thumb';
import { Attributes } from './attributes';
import { useEditing } from './editing';
import { type Cells, cellChange, cellField, cellsOf } from './fields';
import type { Row } from './matrix';

interface VariantDialogProps {
  readonly row: Row | undefined;
  readonly name: string;
  readonly onClose: () => void;
  readonly onRemove: () => void;
}

/** All fields of one variant. */
export function VariantDialog({ row, name, onClose, onRemove }: VariantDialogProps) {
  const t = useTexts();
  const { values, change, faults } = useEditing();
  if (!row) return null;
  const cells = cellsOf(values, row.key);
  const set = (cell: keyof Cells) => (value: unknown) => change(cellChange(row.key, cell, value));
  const field = (cell: keyof Cells) => ({
    label: t.product.cells[cell],
    fault: faults[cellField(row.key, cell)],
  });
  const text = (cell: 'sku' | 'barcode' | 'external_id', maxLength: number) => (
    <TextField
      {...field(cell)}
      maxLength={maxLength}
      value={cells[cell] ?? ''}
      onChange={(value) => set(cell)(value || null)}
    />
  );
  const money = (cell: 'price_amount' | 'compare_at_amount' | 'sale_price_amount') => (
    <MoneyField {...field(cell)} currency={values.price_currency} value={cells[cell]} onChange={set(cell)} />
  );
  return (
    <Dialog
      title={name}
      isOpen
      onClose={onClose}
      size="large"
      footer={
        <>
          <Button kind="danger" icon="trash" onPress={onRemove}>
            {t.product.deleteVariant}
          </Button>
          <Button kind="primary" onPress={onClose}>
            {t.product.done}
          </Button>
        </>
      }
    >
      <PicturePicker value={cells.media_id} onChange={set('media_id')} />
      <FieldRow>
        {text('sku', 100)}
        {text('barcode', 50)}
        {text('external_id', 255)}
      </FieldRow>
      <FieldRow>
        {money('price_amount')}
        {money('compare_at_amount')}
        {money('sale_price_amount')}
      </FieldRow>
      <FieldRow>
        <NumberField
          {...field('quantity_available')}
          value={cells.quantity_available}
          onChange={set('quantity_available')}
          hint={t.product.stockHint}
        />
        <NumberField
          {...field('weight_grams')}
          value={cells.weight_grams}
          onChange={set('weight_grams')}
          end="g"
        />
      </FieldRow>
      <Checkbox isSelected={cells.allow_backorder} onChange={set('allow_backorder')}>
        {t.product.backorderHint}
      </Checkbox>
      <h3>{t.product.attributes}</h3>
      <Attributes
        value={cells.attributes}
        onChange={set('attributes')}
        fault={faults[cellField(row.key, 'attributes')]}
      />
    </Dialog>
  );
}

interface PicturePickerProps {
  readonly value: string | null;
  readonly onChange: (media_id: string | null) => void;
}

/** Chooses one of the product's pictures, or none. */
export function PicturePicker({ value, onChange }: PicturePickerProps) {
  const t = useTexts();
  const { values, pictures } = useEditing();
  return (
    <div className="field">
      <span className="label">{t.product.cells.media_id}</span>
      <ListBox
        aria-label={t.product.cells.media_id}
        layout="grid"
        className="picture-picker"
        selectionMode="single"
        selectedKeys={value ? [value] : []}
        onSelectionChange={(keys) =>
          onChange(keys === 'all' ? null : (([...keys][0] as string | undefined) ?? null))
        }
        items={values.media_ids.map((id, index) => ({ id, index }))}
        renderEmptyState={() => <span className="muted">{t.product.noPicturesYet}</span>}
      >
        {({ id, index }) => (
          <ListBoxItem
            id={id}
            aria-label={values[`alt/${id}`] || t.product.pictureOf(index + 1)}
            textValue={values[`alt/${id}`] || t.product.pictureOf(index + 1)}
            className="picture-choice"
          >
            <Thumb media={pictures.get(id)} size={64} />
          </ListBoxItem>
        )}
      </ListBox>
    </div>
  );
}
