import { useQuery } from '@tanstack/react-query';
import type { Listing } from 'catalog-client';
import { useMemo, useState } from 'react';
import { useApi } from '../../lib/api';
import { useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Badge } from '../../ui/feedback';
import { ComboBox } from '../../ui/fields';
import { useEditing } from './editing';

const LISTINGS_MAX = 21;

/** Returns the listings of the store, and the path of each in the tree: `Clothes › Shirts`. */
export function useListings() {
  const { client } = useApi();
  const { data = [] } = useQuery({
    queryKey: ['listings', 'all'],
    queryFn: () => client.listings.list({ visibility: 'all', sort: 'name', order: 'asc' }).all(),
  });
  return useMemo(() => {
    const by_id = new Map(data.map((listing) => [listing.id, listing]));
    const pathOf = (listing: Listing): string => {
      const above = listing.parent_id ? by_id.get(listing.parent_id) : undefined;
      return above ? `${pathOf(above)} › ${listing.name}` : listing.name;
    };
    const paths = new Map(data.map((listing) => [listing.id, pathOf(listing)]));
    const options = [...paths]
      .map(([id, label]) => ({ id, label }))
      .sort((a, b) => a.label.localeCompare(b.label));
    return { paths, options };
  }, [data]);
}

/** The listings that contain the product. The first that is chosen is the main one. */
export function ListingsField() {
  const t = useTexts();
  const { values, change, faults } = useEditing();
  const { paths, options } = useListings();
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
              <span dir="auto">{paths.get(id) ?? '…'}</span>
              {index === 0 ? (
                <Badge>{t.product.mainListing}</Badge>
              ) : (
                <Button kind="quiet" onPress={() => save([id, ...chosen.filter((each) => each !== id)])}>
                  {t.product.makeMainListing}
                </Button>
              )}
              <IconButton
                label={t.common.removeNamed(paths.get(id) ?? '')}
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
