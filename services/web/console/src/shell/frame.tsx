import { type ReactNode, useState } from 'react';
import { Button as AriaButton } from 'react-aria-components';
import { Link, useLocation } from 'wouter';
import { formatNumber } from '../lib/format';
import { LANGUAGES, type Language, useLanguage, useLocale, useTexts } from '../texts/texts';
import { IconButton } from '../ui/button';
import { Badge } from '../ui/feedback';
import { Icon, type IconName } from '../ui/icon';
import { Dialog, Menu, type MenuAction } from '../ui/overlay';
import { isIn } from './sections';
import { chooseTheme, THEMES } from './theme';
import './frame.css';

export interface NavigationItem {
  readonly path: string;
  readonly icon: IconName;
  readonly label: string;
  /** Of what waits there. */
  readonly count?: number | undefined;
}

interface FrameProps {
  /** The name of the store, or of the service. */
  readonly name: string;
  readonly groups: readonly (readonly NavigationItem[])[];
  /** Above the language and the appearance in the menu of the account. */
  readonly accountItems?: readonly (MenuAction | '-')[];
  readonly onSignOut: () => void;
  readonly onSearch?: () => void;
  readonly children: ReactNode;
}

/** The navigation beside the page; on a phone behind a button. */
export function Frame({ name, groups, accountItems = [], onSignOut, onSearch, children }: FrameProps) {
  const t = useTexts();
  const locale = useLocale();
  const [location] = useLocation();
  const [is_open, setOpen] = useState(false);
  const current = groups.flat().find(({ path }) => isIn(path, location));
  const navigation = (
    <nav aria-label={t.shell.navigation}>
      {groups.map((items) => (
        <ul key={items[0]!.path} className="list">
          {items.map(({ path, icon, label, count }) => (
            <li key={path}>
              <Link
                href={path}
                aria-current={isIn(path, location) ? 'page' : undefined}
                className="navigation-link"
                onClick={() => setOpen(false)}
              >
                <Icon name={icon} />
                {label}
                {count ? <Badge tone="warn">{formatNumber(count, locale)}</Badge> : null}
              </Link>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
  return (
    <div className="frame">
      <a className="skip" href="#main">
        {t.shell.skip}
      </a>
      <header className="top-bar">
        <IconButton label={t.shell.menu} icon="menu" onPress={() => setOpen(true)} />
        <strong className="truncate" dir="auto">
          {current?.label ?? name}
        </strong>
        {onSearch && <IconButton label={t.shell.commands} icon="search" onPress={onSearch} />}
      </header>
      <div className="sidebar">
        <Account name={name} items={accountItems} onSignOut={onSignOut} />
        {onSearch && (
          <AriaButton className="command-button" onPress={onSearch}>
            <Icon name="search" />
            <span>{t.common.search}</span>
            <kbd>{navigator.platform.startsWith('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
          </AriaButton>
        )}
        {navigation}
      </div>
      <Dialog title={name} isOpen={is_open} onClose={() => setOpen(false)}>
        {navigation}
        <Account name={name} items={accountItems} onSignOut={onSignOut} />
      </Dialog>
      {children}
    </div>
  );
}

function Account({
  name,
  items,
  onSignOut,
}: {
  name: string;
  items: FrameProps['accountItems'];
  onSignOut: () => void;
}) {
  const t = useTexts();
  const [language, setLanguage] = useLanguage();
  const languages = Object.entries(LANGUAGES).filter(([id]) => id !== language) as [Language, string][];
  return (
    <Menu
      label={t.shell.account}
      trigger={
        <AriaButton className="account-button" aria-label={`${t.shell.account}: ${name}`}>
          <span className="truncate" dir="auto">
            {name}
          </span>
          <Icon name="chevronDown" />
        </AriaButton>
      }
      items={[
        ...(items ?? []),
        ...THEMES.map((theme) => ({
          id: theme,
          icon: 'theme' as const,
          label: t.shell.themes[theme],
          onAction: () => chooseTheme(theme),
        })),
        '-',
        ...languages.map(([id, label]) => ({ id, label, onAction: () => setLanguage(id) })),
        '-',
        { id: 'sign-out', icon: 'signOut', label: t.session.signOut, onAction: onSignOut },
      ]}
    />
  );
}
