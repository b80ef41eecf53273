import { useState } from 'react';
import { formatMoney } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Badge } from '../../ui/feedback';
import { Icon } from '../../ui/icon';
import { Dialog } from '../../ui/overlay';
import { Thumb } from '../../ui/thumb';
import { useEditing } from './editing';
import { cellsOf } from './fields';
import { type Row, usedOptions } from './matrix';
import { thumbOf } from './pictures';
import './rich-text.css';

/** Shows the product with its unsaved changes as the shop would. */
export function Preview({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts();
  const locale = useLocale();
  const { values, pictures } = useEditing();
  const options = usedOptions(values.options);
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>(values.rows[0]?.of ?? {});
  const [shown_id, setShown] = useState(values.media_ids[0]);
  const rowOf = (of: Row['of']) =>
    values.rows.find((each) => options.every(({ id }) => each.of[id] === of[id]));
  const row = rowOf(chosen);
  const cells = row && cellsOf(values, row.key);
  const price = cells?.price_amount ?? values.price_amount;
  const sale = isOnSale(values.sale_from, values.sale_to)
    ? (cells?.sale_price_amount ?? values.sale_price_amount)
    : null;
  const before = sale !== null ? price : (cells?.compare_at_amount ?? values.compare_at_amount);
  const money = (amount: number) => formatMoney(amount, values.price_currency, locale);
  const stock = cells ? cells.quantity_available : values.quantity_available;
  const is_sold_out = stock !== null && stock <= 0 && !cells?.allow_backorder;
  const choose = (option: string, value: string) => {
    const of = { ...chosen, [option]: value };
    setChosen(of);
    const chosen_row = rowOf(of);
    const picture = chosen_row && cellsOf(values, chosen_row.key).media_id;
    if (picture) setShown(picture);
  };
  return (
    <Dialog title={t.product.preview} size="large" isOpen onClose={onClose}>
      <article className="preview">
        <div className="stack tight">
          {shown_id ? (
            <img
              className="large-picture"
              src={pictures.get(shown_id)?.url ?? thumbOf(pictures.get(shown_id))}
              alt={values[`alt/${shown_id}`] ?? ''}
            />
          ) : (
            <span className="tile">
              <Icon name="media" size={28} />
            </span>
          )}
          {values.media_ids.length > 1 && (
            <div className="row">
              {values.media_ids.map((id, index) => (
                <button
                  key={id}
                  type="button"
                  className="preview-thumb"
                  aria-label={t.product.pictureOf(index + 1)}
                  aria-pressed={id === shown_id}
                  onClick={() => setShown(id)}
                >
                  <Thumb media={pictures.get(id)} size={56} />
                </button>
              ))}
            </div>
          )}
        </div>
        <div className="stack">
          {values.vendor && (
            <span className="muted" dir="auto">
              {values.vendor}
            </span>
          )}
          <h3 className="preview-title" dir="auto">
            {values.title}
          </h3>
          {values.price_active && price !== null && (
            <p className="row preview-price">
              <strong>{money(sale ?? price)}</strong>
              {before !== null && before !== undefined && before > (sale ?? price) && (
                <s className="muted">{money(before)}</s>
              )}
            </p>
          )}
          <span className="row">
            <Badge tone={is_sold_out ? 'bad' : 'good'}>
              {is_sold_out ? t.product.soldOut : t.product.inStock}
            </Badge>
            {values.free_shipping && <Badge>{t.product.freeShipping}</Badge>}
          </span>
          {options.map(({ id, name, values: choices }) => (
            <fieldset key={id} className="field" aria-label={name}>
              <span className="label" dir="auto">
                {name}
              </span>
              <div className="row">
                {choices.map((value) => (
                  <button
                    key={value.id}
                    type="button"
                    className="choice"
                    aria-pressed={chosen[id] === value.id}
                    onClick={() => choose(id, value.id)}
                    dir="auto"
                  >
                    {value.name}
                  </button>
                ))}
              </div>
            </fieldset>
          ))}
          {/* The service or the schema of the editor has made the HTML safe. */}
          <div
            className="rich-text"
            dir="auto"
            dangerouslySetInnerHTML={{ __html: withoutPictures(values.description_html) }}
          />
        </div>
      </article>
    </Dialog>
  );
}

const isOnSale = (from: string | null, to: string | null, now_ms = Date.now()): boolean =>
  (from === null || Date.parse(from) <= now_ms) && (to === null || now_ms < Date.parse(to));

/** The policy of the console allows no pictures of other hosts. */
const withoutPictures = (html: string): string => html.replace(/<img\b[^>]*>/gi, '');
