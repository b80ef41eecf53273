import { useTexts } from '../../texts/texts';
import { LinkButton } from '../../ui/button';
import { Icon, type IconName } from '../../ui/icon';
import { Card } from '../../ui/layout';

/** What to do first in a store without products. */
export function FirstSteps() {
  const t = useTexts();
  const step = (
    icon: IconName,
    title: string,
    note: string,
    href: string,
    action: string,
    is_first = false,
  ) => (
    <Card key={href}>
      <div className="first-step">
        <Icon name={icon} size={24} />
        <h2>{title}</h2>
        <p className="muted">{note}</p>
        <LinkButton kind={is_first ? 'primary' : 'plain'} href={href}>
          {action}
        </LinkButton>
      </div>
    </Card>
  );
  return (
    <section className="stack" aria-label={t.overview.first}>
      <p>{t.overview.firstNote}</p>
      <div className="first-steps">
        {step(
          'import',
          t.overview.importTitle,
          t.overview.importNote,
          '/imports',
          t.overview.importAction,
          true,
        )}
        {step('product', t.overview.productTitle, t.overview.productNote, '/products/new', t.product.new)}
        {step('key', t.overview.keyTitle, t.overview.keyNote, '/keys', t.keys.new)}
      </div>
    </section>
  );
}
