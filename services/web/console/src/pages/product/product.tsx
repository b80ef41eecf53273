import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CatalogApiError, type Store } from 'catalog-client';
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { useDraft } from '../../lib/draft';
import { fieldErrorsOf } from '../../lib/errors';
import { formatTime } from '../../lib/format';
import { useStore, useTextLanguage } from '../../lib/languages';
import { storedKeys } from '../../lib/stored';
import { useUploads } from '../../lib/uploads';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading, say, sayError } from '../../ui/feedback';
import { Languages, type TextForm } from '../../ui/languages';
import { Card, Columns, Page } from '../../ui/layout';
import { Menu } from '../../ui/overlay';
import { SaveBar } from '../../ui/save-bar';
import { faultText } from './attributes';
import { Conflicts } from './conflicts';
import {
  AttributesCard,
  OptionTexts,
  Organisation,
  OtherPrices,
  Price,
  Related,
  SearchEngines,
  Texts,
  Unfinished,
  Visibility,
} from './details';
import { type Editing, EditingContext } from './editing';
import {
  attributeFaults,
  bodyOf,
  currencyOf,
  type Fields,
  faultsOf,
  newBodyOf,
  newProduct,
  type Product,
  translatable,
} from './fields';
import { HistoryPanel } from './history-panel';
import { Options } from './options';
import { Pictures, roomFor, usePictures } from './pictures';
import { Preview } from './preview';
import { readProduct } from './read-product';
import { Variants } from './variants';
import './product.css';

/** The id in the path of a product that is not created yet. */
const NEW = 'new';
/** How often a save is repeated on what somebody else has saved meanwhile. */
const ATTEMPTS_MAX = 4;

const keyOf = (id: string) => ['publications', 'editor', id];

/** The editor of a product. */
export default function ProductPage({ id }: { readonly id: string }) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  // While the next page is loading, React keeps this one. It must not read what does not exist any more.
  const [is_deleted, setDeleted] = useState(false);
  const [, navigate] = useLocation();
  useEffect(() => {
    if (is_deleted) navigate('/products');
  }, [is_deleted, navigate]);
  const { data: store } = useStore();
  const { data, error, refetch } = useQuery({
    queryKey: keyOf(id),
    enabled: id !== NEW && !is_deleted,
    structuralSharing: false,
    queryFn: () => readProduct(client, id, queries.getQueryData(keyOf(id))),
  });
  const restore = useMutation({
    mutationFn: () => client.publications.restore(id),
    onSuccess: () => refetch(),
    onError: (failed) => sayError(failed, t),
  });
  const empty = useMemo(() => store && newProduct(store.currencies?.[0] ?? store.currency ?? 'USD'), [store]);
  const product = id === NEW ? empty : data;
  const back = ['/products', t.products.title] as const;
  if (error instanceof CatalogApiError && error.status === 404)
    return (
      <Page title={t.product.title} back={back}>
        <EmptyState
          icon="product"
          title={t.errors.notFound}
          action={
            <Button onPress={() => restore.mutate()} isPending={restore.isPending}>
              {t.common.restore}
            </Button>
          }
        >
          {t.product.restoreNote}
        </EmptyState>
      </Page>
    );
  if (error && !data)
    return (
      <Page title={t.product.title} back={back}>
        <ErrorState error={error} onRetry={refetch} />
      </Page>
    );
  if (!product || is_deleted)
    return (
      <Page title={t.product.title} back={back}>
        <Card>
          <Loading lines={12} />
        </Card>
      </Page>
    );
  return <Editor id={id} product={product} onDelete={() => setDeleted(true)} />;
}

interface EditorProps {
  readonly id: string;
  readonly product: Product;
  readonly onDelete: () => void;
}

function Editor({ id, product, onDelete }: EditorProps) {
  const t = useTexts();
  const locale = useLocale();
  const { client, store_id } = useApi();
  const { data: store } = useStore();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const draft = useDraft<Fields>(`product/${id}`, product.fields);
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [panel, setPanel] = useState<'history' | 'preview'>();
  const [search] = useSearchParams();
  const [language, setLanguage] = useTextLanguage(search.get('language') ?? undefined);
  const { values, conflicts } = draft;
  const pictures = usePictures(values.media_ids, product.media);
  const readMedia = () => queries.invalidateQueries({ queryKey: ['media'] });
  const uploads = useUploads((media) => {
    queries.setQueryData(['media', media.id], media);
    draft.change(({ media_ids }) => ({ media_ids: [...media_ids, media.id] }));
  }, readMedia);
  const is_new = id === NEW;
  const { publication } = product;

  const { change: changeDraft } = draft;
  const shown_faults = useRef(faults);
  shown_faults.current = faults;
  const change: Editing['change'] = useCallback(
    (given, isDrawn) => {
      changeDraft(given, isDrawn);
      // A field that is changed is not the one that was refused any more.
      const others = Object.entries(shown_faults.current).filter(([field]) => !(field in given));
      if (others.length < Object.keys(shown_faults.current).length) setFaults(Object.fromEntries(others));
    },
    [changeDraft],
  );
  const reload = async (): Promise<Product> => {
    const read = await readProduct(client, id, queries.getQueryData(keyOf(id)));
    queries.setQueryData(keyOf(id), read);
    return read;
  };
  /** Saves what was changed. Returns the id, undefined if a change cannot be saved as it is. */
  const saveDraft = async (): Promise<string | undefined> => {
    await uploads.settled();
    let current = product;
    for (let attempt = 1; ; attempt++) {
      const { values, changed, conflicts } = draft.read(current.fields);
      if (conflicts.length > 0) return undefined;
      const refused = attributeFaults(values, changed).map(([field, fault]) => [
        field,
        faultText(fault, t, locale),
      ]);
      if (refused.length > 0) {
        setFaults(Object.fromEntries(refused));
        return undefined;
      }
      try {
        const saved_id = await write(current, values, changed);
        // From here on, nothing may fail before the draft is empty: the next save would create a second product.
        if (is_new) draft.discard();
        else draft.settle(changed, (await reload()).fields);
        return saved_id;
      } catch (error) {
        const is_outdated = error instanceof CatalogApiError && error.status === 412;
        if (!is_outdated || attempt === ATTEMPTS_MAX) {
          setFaults(faultsOf(fieldErrorsOf(error, t), values.rows));
          throw error;
        }
        current = await reload();
      }
    }
  };
  const write = async (current: Product, values: Fields, changed: Partial<Fields>): Promise<string> => {
    const alts = Object.entries(changed).filter(([field]) => field.startsWith('alt/')) as [
      string,
      string | null,
    ][];
    // Before the product, because a repeated save can repeat these.
    for (const [field, alt] of alts) await client.media.update(field.slice('alt/'.length), { alt });
    if (is_new) return (await client.publications.create(newBodyOf(values, changed))).id;
    const body = bodyOf(values, changed);
    if (Object.keys(body).length > 0)
      await client.publications.update(id, body, { ...(current.etag && { ifMatch: current.etag }) });
    return id;
  };
  const save = useMutation({
    mutationFn: saveDraft,
    onMutate: () => setFaults({}),
    onSuccess: (saved_id) => {
      if (saved_id === undefined) return;
      say(t.common.saved);
      if (is_new) navigate(`/products/${saved_id}`, { replace: true });
    },
    onError: (error) => {
      if (Object.keys(fieldErrorsOf(error, t)).length === 0) sayError(error, t);
    },
  });
  const act = useMutation({
    mutationFn: (action: () => Promise<unknown>) => action(),
    onError: (error) => sayError(error, t),
  });
  const discard = () => {
    const undo = draft.discard();
    setFaults({});
    say(t.product.discarded, undo);
  };
  const remove = () =>
    act.mutate(async () => {
      onDelete();
      await client.publications.delete(id);
      say(t.product.deleted(product.fields.title), async () => {
        await client.publications.restore(id);
        queries.removeQueries({ queryKey: keyOf(id) });
        navigate(`/products/${id}`);
      });
    });
  const duplicate = () =>
    act.mutate(async () => {
      const copy = await client.publications.create(
        copyOf(product, t.product.copyOf(product.fields.title), store),
      );
      navigate(`/products/${copy.id}`);
      say(t.product.duplicated, async () => {
        await client.publications.delete(copy.id);
        navigate(`/products/${id}`);
      });
    });
  const revert = (revision: number, newest: number) =>
    act.mutate(async () => {
      const { not_restored } = await client.publications.revert(id, revision);
      await reload();
      say(not_restored.length > 0 ? t.product.revertedInPart : t.product.reverted, async () => {
        await client.publications.revert(id, newest);
        await reload();
      });
    });

  const is_saving = save.isPending;
  const refused = Object.keys(faults).length;
  const refusal = refused > 0 ? t.product.refused(refused) : undefined;
  const fault = conflicts.length > 0 && !is_saving ? t.product.decideFirst : refusal;
  // What becomes of a new product or variant is known after the save.
  const is_inert = is_saving && (is_new || draft.changed.rows !== undefined);
  const sendFiles = useRef((_: readonly File[]) => {});
  sendFiles.current = (files) => {
    if (!is_inert) uploads.send(files, roomFor(values.media_ids, uploads.uploads));
  };
  useEffect(() => {
    // A file that misses the pictures would replace the page.
    const onDrag = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      if (event.type === 'drop') sendFiles.current([...event.dataTransfer.files]);
    };
    addEventListener('dragover', onDrag);
    addEventListener('drop', onDrag);
    return () => {
      removeEventListener('dragover', onDrag);
      removeEventListener('drop', onDrag);
    };
  }, []);

  const editing: Editing = { product, values, change, faults, pictures, uploads, language };
  // Up to 2,048 variants are drawn after what is typed elsewhere.
  const drawn_later = useDeferredValue(editing);
  const variants = useMemo(() => <Variants />, []);
  const others = is_new
    ? storedKeys(`draft/${store_id}/product/`)
        .map((key) => key.slice(key.lastIndexOf('/') + 1))
        .filter((each) => each !== NEW)
    : [];
  const public_path =
    publication?.visibility === 'public' && publication.handle ? `/p/${publication.handle}` : undefined;
  return (
    <EditingContext value={editing}>
      <Page
        title={is_new ? t.product.new : product.fields.title}
        back={['/products', t.products.title]}
        width="form"
        state={
          publication && (
            <>
              <Badge tone={publication.visibility === 'public' ? 'good' : 'neutral'}>
                {publication.visibility === 'public' ? t.product.public : t.product.private}
              </Badge>
              {publication.publish_at && (
                <Badge tone="info">{t.product.scheduled(formatTime(publication.publish_at, locale))}</Badge>
              )}
            </>
          )
        }
        actions={
          <>
            <Button icon="eye" onPress={() => setPanel('preview')}>
              {t.product.preview}
            </Button>
            {!is_new && (
              <>
                <Button icon="history" onPress={() => setPanel('history')}>
                  {t.history.title}
                </Button>
                <Menu
                  label={t.common.more}
                  trigger={
                    <IconButton kind="plain" label={t.common.more} icon="more" isPending={act.isPending} />
                  }
                  items={[
                    {
                      id: 'open',
                      icon: 'external',
                      label: t.product.openInShop,
                      isDisabled: !public_path,
                      onAction: () => void window.open(public_path, '_blank'),
                    },
                    { id: 'duplicate', icon: 'copy', label: t.product.duplicate, onAction: duplicate },
                    '-',
                    { id: 'delete', icon: 'trash', label: t.common.delete, isDanger: true, onAction: remove },
                  ]}
                />
              </>
            )}
          </>
        }
      >
        <Unfinished ids={others} />
        {conflicts.length > 0 && !is_saving && (
          <Conflicts conflicts={conflicts} onMine={draft.keepMine} onTheirs={draft.takeTheirs} />
        )}
        <div className="stack" inert={is_inert}>
          <Languages form={editing as TextForm} texts={translatable(values)} onChange={setLanguage}>
            {language === undefined ? (
              <>
                <Columns
                  side={
                    <>
                      <Visibility />
                      <Organisation />
                    </>
                  }
                >
                  <Texts />
                  <Pictures />
                  <Price />
                  <OtherPrices />
                  <AttributesCard />
                </Columns>
                <Card title={t.product.variants} hint={t.product.variantsHint}>
                  <Options />
                  <EditingContext value={drawn_later}>{variants}</EditingContext>
                </Card>
                {is_new ? (
                  <SearchEngines />
                ) : (
                  <Columns side={<Related id={id} />}>
                    <SearchEngines />
                  </Columns>
                )}
              </>
            ) : (
              <>
                <Texts />
                <OptionTexts />
                <SearchEngines />
              </>
            )}
          </Languages>
        </div>
        <SaveBar
          isChanged={draft.is_changed || is_saving}
          isPending={is_saving}
          isBlocked={conflicts.length > 0}
          fault={fault}
          onSave={save.mutate}
          onDiscard={discard}
        />
        {panel === 'preview' && <Preview onClose={() => setPanel(undefined)} />}
        {panel === 'history' && (
          <HistoryPanel
            id={id}
            onRevert={revert}
            isPending={act.isPending}
            onClose={() => setPanel(undefined)}
          />
        )}
      </Page>
    </EditingContext>
  );
}

/** Returns the body of a private copy. It has no names that only one product may have. */
function copyOf({ fields }: Product, title: string, store: Store | undefined) {
  // Texts and prices in languages and currencies that the store does not have any more would be refused.
  const isKept = (field: string): boolean => {
    const currency = currencyOf(field);
    const [start, locale = '', name] = field.split('/');
    if (start !== 'translations') return !currency || !!store?.currencies?.includes(currency);
    return name !== 'handle' && !!store?.locales?.slice(1).includes(locale);
  };
  const kept = Object.entries(fields).filter(([field]) => isKept(field));
  const all = bodyOf(fields, Object.fromEntries(kept));
  const { handle, external_id, publish_at, unpublish_at, variants, ...body } = all;
  const unique = new Set(['id', 'sku', 'external_id']);
  return {
    ...body,
    title,
    visibility: 'private' as const,
    price_currency: fields.price_currency,
    price_amount: fields.price_amount ?? 0,
    ...(variants?.length && {
      variants: variants.map((variant) =>
        Object.fromEntries(
          Object.entries(variant).filter(([field, value]) => !unique.has(field) && value !== null),
        ),
      ),
    }),
  };
}
