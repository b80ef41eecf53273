import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Autocomplete, Input, Menu, MenuItem, SearchField, useFilter } from 'react-aria-components';
import { useLocation } from 'wouter';
import { useApi } from '../lib/api';
import { signOut } from '../lib/session';
import { useTexts } from '../texts/texts';
import { sayFailed } from '../ui/feedback';
import { Icon, type IconName } from '../ui/icon';
import { Dialog } from '../ui/overlay';
import { SECTIONS } from './sections';
import { chooseTheme } from './theme';
import './commands.css';

interface Command {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const PRODUCTS_MAX = 8;

/** The command palette: opens pages and products, and does what has no place in a page. */
export function Commands({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts();
  const { client } = useApi();
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const { contains } = useFilter({ sensitivity: 'base' });
  const q = text.trim();
  const { data: products = [] } = useQuery({
    queryKey: ['publications', 'commands', q],
    enabled: q !== '',
    placeholderData: keepPreviousData,
    queryFn: async () =>
      (await client.store.search(q, { limit: PRODUCTS_MAX, visibility: 'all' }).page()).data,
  });
  const open = (path: string) => () => navigate(path);
  const commands: Command[] = [
    { id: 'new-product', label: t.product.new, icon: 'plus', run: open('/products/new') },
    ...SECTIONS.flat().map(({ path, icon, titleIn }): Command => {
      return { id: path, icon, label: t.shell.goTo(titleIn(t)), run: open(path) };
    }),
    { id: 'shop', label: t.shell.openShop, icon: 'external', run: () => void window.open('/', '_blank') },
    { id: 'light', label: t.shell.themes.light, icon: 'theme', run: () => chooseTheme('light') },
    { id: 'dark', label: t.shell.themes.dark, icon: 'theme', run: () => chooseTheme('dark') },
    {
      id: 'sign-out',
      label: t.session.signOut,
      icon: 'signOut',
      run: () => void signOut().catch(() => sayFailed(t.errors.connection)),
    },
  ];
  const items = [
    ...commands.filter(({ label }) => contains(label, q)),
    ...(q === '' ? [] : products).map(({ id, title }): Command => {
      return { id, label: title, icon: 'product', run: open(`/products/${id}`) };
    }),
  ];
  return (
    <Dialog title={t.shell.commands} isOpen onClose={onClose}>
      <Autocomplete inputValue={text} onInputChange={setText}>
        <SearchField aria-label={t.shell.commands} autoFocus>
          <Input className="input" placeholder={t.shell.commandsHint} dir="auto" />
        </SearchField>
        <Menu
          items={items}
          className="command-list"
          aria-label={t.shell.commands}
          renderEmptyState={() => <p className="muted">{t.shell.noCommands}</p>}
        >
          {({ id, label, icon, run }) => (
            <MenuItem
              id={id}
              className="list-item"
              textValue={label}
              onAction={() => {
                onClose();
                run();
              }}
            >
              <Icon name={icon} />
              <span dir="auto">{label}</span>
            </MenuItem>
          )}
        </Menu>
      </Autocomplete>
    </Dialog>
  );
}
