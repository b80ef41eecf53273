import { useQueryClient } from '@tanstack/react-query';
import type { Change } from 'catalog-client';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { ChangeWords, shortened } from '../../lib/change-words';
import { formatDay, formatHour, formatTime } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { IconButton } from '../../ui/button';
import { say, sayError } from '../../ui/feedback';
import { Icon, type IconName } from '../../ui/icon';
import { Menu, type MenuAction } from '../../ui/overlay';
import { productOf, useNames } from './names';
import './history.css';

const ICONS: Readonly<Record<Change['resource'], IconName>> = {
  publication: 'product',
  variant: 'product',
  listing: 'listing',
  media: 'media',
  review: 'review',
  store: 'store',
};

/** Returns the page of what changed. What was deleted has none, and what is only proposed. */
function hrefOf(change: Change): string | undefined {
  const { type, resource, resource_id } = change;
  if (resource === 'media' || resource === 'review' || resource === 'store')
    return resource === 'review' ? '/reviews' : `/${resource}`;
  if (type === 'publication.deleted' || type === 'listing.deleted' || !resource_id) return undefined;
  return resource === 'listing' ? `/listings/${resource_id}` : `/products/${productOf(change)}`;
}

interface ChangeListProps {
  readonly changes: readonly Change[];
  /** Whether products can be returned to what they were. */
  readonly canReturn?: boolean;
  /** The run that the page is about, which the changes do not name again. */
  readonly ofRun?: string | undefined;
}

/** Changes of the store in words, the newest first, under the day when they were made. */
export function ChangeList({ changes, canReturn = false, ofRun }: ChangeListProps) {
  const t = useTexts();
  const locale = useLocale();
  const { currencyOf, nameOf } = useNames(changes);
  const days = Map.groupBy(changes, ({ occurred_at }) => formatDay(occurred_at, locale));
  return (
    <div className="changes">
      {[...days].map(([day, ofDay]) => (
        <section key={day} aria-label={day}>
          <h3>{day}</h3>
          <ul className="list">
            {ofDay.map((change) => (
              <li key={`${change.id} ${change.resource_id}`} className="change">
                <Icon name={ICONS[change.resource]} />
                <ChangeWords
                  change={change}
                  currency={currencyOf(change)}
                  nameOf={nameOf}
                  subject={<Subject change={change} />}
                />
                <time dateTime={change.occurred_at} title={formatTime(change.occurred_at, locale)}>
                  {formatHour(change.occurred_at, locale)}
                </time>
                {canReturn && <ReturnMenu change={change} />}
                {change.run && change.run !== ofRun && (
                  <Link className="change-run muted" href={`/history?run=${encodeURIComponent(change.run)}`}>
                    {t.history.ofRun(change.run)}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** What was changed, with a link to its page if it has one. */
export function Subject({ change }: { readonly change: Change }) {
  const t = useTexts();
  const href = hrefOf(change);
  const name = change.title ? shortened(change.title) : t.history.resources[change.resource];
  return href ? (
    <Link href={href} dir="auto">
      {name}
    </Link>
  ) : (
    <bdi>{name}</bdi>
  );
}

/** Returns a product to what it was before or after a change, or restores what was deleted. */
function ReturnMenu({ change }: { readonly change: Change }) {
  const t = useTexts();
  const { client, may } = useApi();
  const queries = useQueryClient();
  const { type, resource_id, revision, title = '' } = change;
  const product = productOf(change);
  const run = async (write: () => Promise<void>) => {
    try {
      await write();
    } catch (error) {
      sayError(error, t);
    }
    await queries.invalidateQueries();
  };
  const returnTo = (id: string, to: number) => async () => {
    const [newest] = (await client.publications.history(id, { limit: 1 }).page()).data;
    const returned = await client.publications.revert(id, to);
    const { not_restored } = returned;
    say(not_restored.length > 0 ? t.history.returnedPartly(title) : t.history.returned(title), async () => {
      await client.publications.revert(id, newest!.revision, { ifMatch: returned });
      await queries.invalidateQueries();
    });
  };
  const restore =
    (calls: Pick<typeof client.publications | typeof client.listings, 'restore' | 'delete'>) =>
    async (): Promise<void> => {
      await calls.restore(resource_id);
      say(t.history.isRestored(title), async () => {
        await calls.delete(resource_id);
        await queries.invalidateQueries();
      });
    };
  const items: MenuAction[] = [];
  if (type === 'publication.deleted' || type === 'listing.deleted') {
    const calls = type === 'listing.deleted' ? client.listings : client.publications;
    items.push({
      id: 'restore',
      icon: 'undo',
      label: t.common.restore,
      onAction: () => void run(restore(calls)),
    });
  } else if (product) {
    const action = (id: string, label: string, to: number): MenuAction => ({
      id,
      label,
      icon: 'undo',
      onAction: () => void run(returnTo(product, to)),
    });
    if (revision > 1) items.push(action('before', t.history.returnToBefore, revision - 1));
    items.push(action('after', t.history.returnToAfter, revision));
  }
  const is_allowed = may(change.resource === 'listing' ? 'write:listings' : 'write:publications');
  if (items.length === 0 || !is_allowed) return <span />;
  return (
    <Menu
      label={t.history.actionsOf(title)}
      trigger={<IconButton label={t.history.actionsOf(title)} icon="more" />}
      items={items}
    />
  );
}
