import { useState } from 'react';
import { pathText, useListings, withDescendants } from '../../lib/listings';
import { useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Badge } from '../../ui/feedback';
import { ComboBox } from '../../ui/fields';
import { useEditing } from './editing';

const LISTINGS_MAX = 21;

/** The listings that contain the product. The first that is chosen is the main one. */
export function ListingsField() {
  const t = useTexts();
  const { values, change, faults } = useEditing();
  const { tree } = useListings();
  const options = (tree?.tops ?? [])
    .flatMap(withDescendants)
    .map((node) => ({ id: node.id, label: pathText(node) }));
  const nameOf = (id: string): string => options.find((option) => option.id === id)?.label ?? '…';
  const [text, setText] = useState('');
  const { listing_id, listing_ids } = values;
  const chosen = [...(listing_id ? [listing_id] : []), ...listing_ids];
  const save = ([main, ...others]: readonly string[]) =>
    change({ listing_id: main ?? null, listing_ids: others });
  return (
    <>
      {chosen.length > 0 && (
        <ul className="list stack tight" aria-label={t.product.listings}>
          {chosen.map((id, index) => (
            <li key={id} className="chosen-listing">
              <span dir="auto">{nameOf(id)}</span>
              {index === 0 ? (
                <Badge>{t.product.mainListing}</Badge>
              ) : (
                <Button kind="quiet" onPress={() => save([id, ...chosen.filter((each) => each !== id)])}>
                  {t.product.makeMainListing}
                </Button>
              )}
              <IconButton
                label={t.common.removeNamed(nameOf(id))}
                icon="close"
                onPress={() => save(chosen.filter((each) => each !== id))}
              />
            </li>
          ))}
        </ul>
      )}
      <ComboBox
        label={chosen.length === 0 ? t.product.chooseListing : t.product.addListing}
        value={text}
        onChange={setText}
        options={options.filter(({ id }) => !chosen.includes(id))}
        isDisabled={chosen.length >= LISTINGS_MAX}
        fault={faults.listing_id ?? faults.listing_ids}
        onChoose={(id) => {
          save([...chosen, id]);
          // The field shows the chosen option first.
          setTimeout(() => setText(''));
        }}
      />
    </>
  );
}
