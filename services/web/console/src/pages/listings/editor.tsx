import { useState } from 'react';
import { shortened } from '../../lib/change-words';
import { formatTime } from '../../lib/format';
import { pathText, useListings } from '../../lib/listings';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { ConflictBanner } from '../../ui/conflicts';
import { DateTimeField, Select, TextField } from '../../ui/fields';
import { inLanguage, type TextForm, useLabels } from '../../ui/languages';
import { Card } from '../../ui/layout';
import type { Fields } from './fields';
import { ListingPicker } from './picker';
import type { Editor, SavedListing } from './use-editor';

interface PartProps {
  readonly editor: Editor;
}

const SORT_MODES = [
  'created_at_desc',
  'created_at_asc',
  'name_asc',
  'name_desc',
  'price_asc',
  'price_desc',
] as const;

type TextName = 'description' | 'handle' | 'external_id' | 'seo_title' | 'seo_description';

/** Returns what connects an input with a text of the draft. An empty text is no value. */
const textOf = (editor: Editor, name: TextName) =>
  inLanguage(editor as TextForm, name.split(/(?<=^seo)_/), {
    value: editor.values[name] ?? '',
    onChange: (value: string) => editor.change({ [name]: value || null }),
    fault: editor.faults[name.replace('seo_', 'seo.')],
  });

export function Texts({ editor }: PartProps) {
  const t = useTexts();
  const name = {
    value: editor.values.name,
    onChange: (name: string) => editor.change({ name }),
    fault: editor.faults.name,
    isRequired: true,
  };
  return (
    <Card>
      <TextField
        label={t.listings.name}
        maxLength={120}
        {...inLanguage(editor as TextForm, ['name'], name)}
      />
      <TextField label={t.listings.description} rows={4} {...textOf(editor, 'description')} />
    </Card>
  );
}

export function Visibility({ editor }: PartProps) {
  const t = useTexts();
  const { values, change, faults } = editor;
  return (
    <Card title={t.product.visibility}>
      <Select
        label={t.product.visibility}
        hideLabel
        value={values.visibility}
        options={[
          { id: 'public', label: t.product.public },
          { id: 'private', label: t.product.private },
        ]}
        onChange={(id) => change({ visibility: id as Fields['visibility'] })}
        hint={values.publish_at && values.visibility === 'private' ? t.product.privateUntil : undefined}
        fault={faults.visibility}
      />
      <DateTimeField
        label={t.product.publishAt}
        value={values.publish_at}
        onChange={(publish_at) =>
          change({ publish_at, ...(publish_at && { visibility: 'private' as const }) })
        }
        fault={faults.publish_at}
      />
      <DateTimeField
        label={t.product.unpublishAt}
        value={values.unpublish_at}
        onChange={(unpublish_at) => change({ unpublish_at })}
        fault={faults.unpublish_at}
      />
    </Card>
  );
}

export function Placement({ editor, listing }: PartProps & { readonly listing: SavedListing | undefined }) {
  const t = useTexts();
  const { tree } = useListings();
  const [is_open, setOpen] = useState(false);
  const { values, change, faults } = editor;
  const parent = tree?.byId.get(values.parent_id ?? '');
  return (
    <Card title={t.listings.placement}>
      <div className="stack tight">
        <h3>{t.listings.parent}</h3>
        <div className="row spread listing-parent">
          <span dir="auto">{parent ? pathText(parent) : t.listings.top}</span>
          <Button onPress={() => setOpen(true)} aria-label={t.listings.changeParent}>
            {t.listings.change}
          </Button>
        </div>
        {faults.parent_id && <p className="fault">{faults.parent_id}</p>}
      </div>
      <Select
        label={t.listings.sortMode}
        hint={t.listings.sortModeHint}
        value={values.default_sort_mode}
        options={SORT_MODES.map((id) => ({ id, label: t.listings.sortModes[id] }))}
        onChange={(id) => change({ default_sort_mode: id as Fields['default_sort_mode'] })}
      />
      {is_open && tree && (
        <ListingPicker
          title={t.listings.parent}
          tree={tree}
          placeOf={listing && tree.byId.get(listing.id)}
          onClose={() => setOpen(false)}
          onChoose={(chosen) => change({ parent_id: chosen?.id ?? null })}
        />
      )}
    </Card>
  );
}

export function SearchEngines({ editor }: PartProps) {
  const t = useTexts();
  return (
    <Card title={t.product.seo} hint={t.listings.seoHint}>
      <TextField
        label={t.product.seoTitle}
        placeholder={editor.values.name}
        {...textOf(editor, 'seo_title')}
      />
      <TextField label={t.product.seoDescription} rows={2} {...textOf(editor, 'seo_description')} />
      <TextField
        label={t.product.handle}
        {...textOf(editor, 'handle')}
        hint={editor.language === undefined ? t.listings.handleHint : editor.values.handle}
      />
      {editor.language === undefined && (
        <TextField
          label={t.product.externalId}
          hint={t.product.externalIdHint}
          {...textOf(editor, 'external_id')}
        />
      )}
    </Card>
  );
}

export function ListingConflicts({ editor }: PartProps) {
  const t = useTexts();
  const locale = useLocale();
  const { tree } = useListings();
  const labelOf = useLabels(t.listings.fieldNames);
  const words = (field: keyof Fields, value: unknown): string => {
    if (value === null || value === '') return t.common.none;
    if (field === 'media_ids') return t.product.pictureCount((value as string[]).length);
    if (field === 'visibility') return t.product[value as Fields['visibility']];
    if (field === 'default_sort_mode') return t.listings.sortModes[value as Fields['default_sort_mode']];
    if (field === 'publish_at' || field === 'unpublish_at') return formatTime(String(value), locale);
    const parent = field === 'parent_id' && tree?.byId.get(String(value));
    return parent ? pathText(parent) : shortened(String(value));
  };
  return <ConflictBanner draft={editor} labelOf={labelOf} wordsOf={words} />;
}
