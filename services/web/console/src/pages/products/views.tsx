import { useState } from 'react';
import { Form } from 'react-aria-components';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { useStored } from '../../lib/stored';
import { useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { say } from '../../ui/feedback';
import { TextField } from '../../ui/fields';
import { Dialog } from '../../ui/overlay';
import { selectionOf } from './query';

/** Filters and an order with a name. */
interface View {
  readonly name: string;
  readonly query: string;
}

const BUILT_IN = {
  all: '',
  public: 'visibility=public',
  private: 'visibility=private',
  scheduled: 'scheduled=true',
  soldOut: 'in_stock=false',
  discount: 'has_discount=true',
  deleted: 'visibility=deleted',
} as const;

const isOf = (query: string, params: URLSearchParams): boolean =>
  selectionOf(new URLSearchParams(query)) === selectionOf(params);

/** The views as tabs: those that every store has, and those that this browser keeps. */
export function Views({ params }: { readonly params: URLSearchParams }) {
  const t = useTexts();
  const { store_id } = useApi();
  const [saved, setSaved] = useStored<readonly View[]>(`views/${store_id}/products`, []);
  const [name, setName] = useState<string>();
  const views = [
    ...Object.entries(BUILT_IN).map(([id, query]) => ({
      id,
      name: t.products.views[id as keyof typeof BUILT_IN],
      query: query as string,
    })),
    ...saved.map((view) => ({ id: `saved ${view.name}`, ...view })),
  ];
  const current = views.findLast(({ query }) => isOf(query, params));
  const own = saved.find((view) => `saved ${view.name}` === current?.id);
  const save = () => {
    if (!name?.trim()) return;
    const view = { name: name.trim(), query: params.toString() };
    setSaved([...saved.filter((each) => each.name !== view.name), view]);
    setName(undefined);
    say(t.products.viewSaved(view.name));
  };
  const remove = (view: View) => {
    setSaved(saved.filter((each) => each !== view));
    say(t.products.viewRemoved(view.name), () => setSaved(saved));
  };
  return (
    <nav aria-label={t.products.viewsLabel} className="tab-list views">
      {views.map(({ id, name: label, query }) => (
        <Link
          key={id}
          href={query === '' ? '/products' : `/products?${query}`}
          className="tab"
          dir="auto"
          {...(current?.id === id && { 'aria-current': 'page', 'data-selected': true })}
        >
          {label}
        </Link>
      ))}
      {own && <IconButton label={t.products.removeView(own.name)} icon="trash" onPress={() => remove(own)} />}
      {!current && (
        <Button kind="quiet" icon="plus" onPress={() => setName('')}>
          {t.products.saveView}
        </Button>
      )}
      <Dialog
        title={t.products.saveView}
        isOpen={name !== undefined}
        onClose={() => setName(undefined)}
        footer={
          <Button kind="primary" type="submit" form="save-view">
            {t.common.save}
          </Button>
        }
      >
        <Form
          id="save-view"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <TextField
            label={t.products.viewName}
            hint={t.products.viewHint}
            value={name ?? ''}
            onChange={setName}
            maxLength={60}
            isRequired
            autoFocus
          />
        </Form>
      </Dialog>
    </nav>
  );
}
