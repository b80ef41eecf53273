import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Media } from 'catalog-client';
import { type KeyboardEvent, type MouseEvent, useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { shortened } from '../../lib/change-words';
import { useDraft } from '../../lib/draft';
import { fieldErrorsOf } from '../../lib/errors';
import { formatBytes, formatNumber, formatTime } from '../../lib/format';
import { useTextLanguage } from '../../lib/languages';
import { type TranslatedTexts, textsOf, withPatch } from '../../lib/translations';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, LinkButton } from '../../ui/button';
import { ConflictBanner } from '../../ui/conflicts';
import { Badge, Loading, say, sayError, sayFailed } from '../../ui/feedback';
import { TextField } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { inLanguage, Languages, useLabels } from '../../ui/languages';
import { Facts } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { focusOf } from '../../ui/thumb';

type Point = NonNullable<Media['focal_point']>;
interface Fields extends TranslatedTexts {
  readonly alt: string | null;
  readonly focal_point: Point | null;
}
const fieldsOf = ({ alt, focal_point, translations }: Media): Fields => ({
  alt: alt ?? null,
  focal_point: focal_point ?? null,
  ...textsOf(translations),
});

interface MediaDetailProps {
  readonly media: Media;
  readonly onClose: () => void;
  readonly onDelete: () => void;
}

/** A picture with what is known about it. What was typed is kept when the dialog is closed. */
export function MediaDetail({ media, onClose, onDelete }: MediaDetailProps) {
  const t = useTexts();
  const { client, may } = useApi();
  const queries = useQueryClient();
  const draft = useDraft(`media/${media.id}`, fieldsOf(media));
  const { values, is_changed, conflicts, change } = draft;
  const [is_pending, setPending] = useState(false);
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const may_write = may('write:media');
  const write = async (fields: Partial<Fields>) => {
    await client.media.update(media.id, withPatch(fields));
    await queries.invalidateQueries({ queryKey: ['media'] });
  };
  /** Saves what was changed, unless somebody else has changed one of these fields meanwhile. */
  const saveChanged = async () => {
    const now = await client.media.get(media.id);
    const before = fieldsOf(now);
    const { changed, conflicts } = draft.read(before);
    if (conflicts.length > 0) return queries.invalidateQueries({ queryKey: ['media'] });
    await write(changed);
    draft.settle(changed, { ...before, ...changed });
    const names = Object.keys(changed) as (keyof Fields)[];
    say(t.common.saved, () =>
      write(Object.fromEntries(names.map((name) => [name, before[name]])) as Partial<Fields>),
    );
  };
  const save = async () => {
    setPending(true);
    setFaults({});
    try {
      await saveChanged();
    } catch (error) {
      setFaults(fieldErrorsOf(error, t));
      sayError(error, t);
    }
    setPending(false);
  };
  const labelOf = useLabels({ alt: t.media.alt, focal_point: t.media.focalName });
  const [language, setLanguage] = useTextLanguage();
  const form = { values, change, faults, language };
  const words = (value: unknown): string => {
    if (value === null) return t.common.none;
    if (typeof value === 'string') return shortened(value);
    const { x, y } = value as Point;
    return t.media.focalPoint(Math.round(x * 100), Math.round(y * 100));
  };
  const copy = () =>
    navigator.clipboard.writeText(media.url!).then(
      () => say(t.media.copied),
      () => sayFailed(t.errors.unknown),
    );
  return (
    <Dialog
      title={t.media.picture}
      isOpen
      size="large"
      onClose={onClose}
      footer={
        may_write && (
          <>
            <Button kind="danger" icon="trash" onPress={onDelete}>
              {t.common.delete}
            </Button>
            <span className="media-footer-space" />
            {is_changed && (
              <Button onPress={draft.discard} isDisabled={is_pending}>
                {t.common.discard}
              </Button>
            )}
            <Button
              kind="primary"
              onPress={() => void save()}
              isPending={is_pending}
              isDisabled={!is_changed || conflicts.length > 0}
            >
              {t.common.save}
            </Button>
          </>
        )
      }
    >
      {!is_pending && <ConflictBanner draft={draft} labelOf={labelOf} wordsOf={(_, value) => words(value)} />}
      <div className="media-detail">
        <div className="stack">
          {media.status === 'failed' && <Badge tone="bad">{t.media.failed}</Badge>}
          {media.url && (
            <FocalPoint
              media={media}
              point={values.focal_point}
              isDisabled={!may_write}
              onChange={(focal_point) => change({ focal_point })}
            />
          )}
        </div>
        <div className="stack">
          <Languages form={form} texts={[[['alt'], values.alt]]} onChange={setLanguage}>
            <TextField
              label={t.media.alt}
              rows={3}
              maxLength={500}
              isDisabled={!may_write}
              {...inLanguage(form, ['alt'], {
                hint: t.media.altHint,
                value: values.alt ?? '',
                onChange: (alt) => change({ alt: alt.replace(/\s*\n\s*/g, ' ') || null }),
                fault: faults.alt,
              })}
            />
          </Languages>
          <Uses id={media.id} />
          <MediaFacts media={media} />
          {media.url && (
            <div className="row">
              <Button icon="copy" onPress={() => void copy()}>
                {t.media.copy}
              </Button>
              <LinkButton icon="download" href={media.url} download>
                {t.media.download}
              </LinkButton>
            </div>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function MediaFacts({ media }: { readonly media: Media }) {
  const t = useTexts();
  const locale = useLocale();
  const pixels = `${formatNumber(media.width, locale)} × ${formatNumber(media.height, locale)}`;
  return (
    <Facts
      facts={[
        [t.media.dimensions, pixels],
        [t.media.size, formatBytes(media.size_bytes, locale)],
        [t.media.type, media.mime_type.replace('image/', '').toUpperCase()],
        [t.media.added, formatTime(media.created_at, locale)],
      ]}
    />
  );
}

function Uses({ id }: { readonly id: string }) {
  const t = useTexts();
  const { client } = useApi();
  const { data } = useQuery({
    queryKey: ['media', 'uses', id],
    queryFn: () => client.media.uses(id).page(),
  });
  if (!data) return <Loading lines={1} />;
  const left = data.meta.item_count - data.data.length;
  return (
    <section aria-labelledby="media-uses" className="stack tight">
      <h3 id="media-uses">{t.media.uses}</h3>
      {data.data.length === 0 && <p className="muted">{t.media.notUsed}</p>}
      <ul className="list media-uses-list">
        {data.data.map(({ id: used_by, object, title, visibility }) => (
          <li key={used_by} className="row">
            <Icon name={object === 'listing' ? 'listing' : 'product'} />
            <Link href={object === 'listing' ? `/listings/${used_by}` : `/products/${used_by}`} dir="auto">
              {title}
            </Link>
            {visibility === 'private' && <Badge>{t.listings.private}</Badge>}
          </li>
        ))}
        {left > 0 && <li className="muted">{t.media.moreUses(left)}</li>}
      </ul>
    </section>
  );
}

const CENTRE: Point = { x: 0.5, y: 0.5 };
const STEP = 0.01;
const LARGE_STEP = 0.1;
const rounded = (value: number) => Math.round(Math.min(1, Math.max(0, value)) * 100) / 100;

interface FocalPointProps {
  readonly media: Media;
  readonly point: Point | null;
  readonly isDisabled: boolean;
  readonly onChange: (point: Point | null) => void;
}

/** The picture with its focal point, which a click or the arrow keys move, and what is left of the picture in narrow places. */
function FocalPoint({ media, point, isDisabled, onChange }: FocalPointProps) {
  const t = useTexts();
  const { x, y } = point ?? CENTRE;
  const src = media.variants.find(({ name }) => name === 'medium')?.url ?? media.url;
  const onClick = ({ clientX, clientY, currentTarget }: MouseEvent<HTMLElement>) => {
    const { left, top, width, height } = currentTarget.getBoundingClientRect();
    if (!isDisabled) onChange({ x: rounded((clientX - left) / width), y: rounded((clientY - top) / height) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.shiftKey ? LARGE_STEP : STEP;
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [-step, 0],
      ArrowRight: [step, 0],
      ArrowUp: [0, -step],
      ArrowDown: [0, step],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    onChange({ x: rounded(x + move[0]), y: rounded(y + move[1]) });
  };
  const shown = { ...media, focal_point: point ?? CENTRE };
  return (
    <figure className="stack tight">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: The button inside is for the keyboard. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above */}
      <div className="focal-picture" onClick={onClick}>
        <img src={src} width={media.width} height={media.height} alt={media.alt ?? t.media.picture} />
        <button
          type="button"
          className="focal-point"
          disabled={isDisabled}
          style={{ left: `${x * 100}%`, top: `${y * 100}%` }}
          aria-label={t.media.focalPoint(Math.round(x * 100), Math.round(y * 100))}
          onKeyDown={onKeyDown}
          onClick={(event) => event.stopPropagation()}
        />
      </div>
      <figcaption className="muted small">{t.media.focalHint}</figcaption>
      <div className="focal-crops">
        {(['square', 'wide', 'tall'] as const).map((form) => (
          <img key={form} className={form} src={src} alt="" style={focusOf(shown)} />
        ))}
        {point && !isDisabled && (
          <Button kind="quiet" icon="undo" onPress={() => onChange(null)}>
            {t.media.focalReset}
          </Button>
        )}
      </div>
    </figure>
  );
}
