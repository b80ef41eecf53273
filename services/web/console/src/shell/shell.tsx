import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../lib/api';
import { useStore } from '../lib/languages';
import { useLiveChanges } from '../lib/live';
import { signOut } from '../lib/session';
import { useWaiting } from '../pages/proposals/use-waiting';
import { useTexts } from '../texts/texts';
import { sayFailed } from '../ui/feedback';
import { Commands } from './commands';
import { Frame } from './frame';
import { SECTIONS } from './sections';

/** The frame of the merchant's pages: the navigation, the commands, and the keys that work everywhere. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const t = useTexts();
  const { client, stores, store_id, chooseStore } = useApi();
  const [, navigate] = useLocation();
  const [has_commands, setCommands] = useState(false);
  const { data: store } = useStore();
  const { data: others = [] } = useQuery({
    queryKey: ['store', 'others'],
    enabled: stores.length > 1,
    queryFn: () =>
      Promise.all(stores.filter((id) => id !== store_id).map((id) => client.store.get({ store_id: id }))),
  });
  const counts: Readonly<Record<string, number>> = { '/proposals': useWaiting() };
  useLiveChanges();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        setCommands(true);
      } else if (event.key === '/' && !isTyping(event.target)) {
        const search = document.querySelector<HTMLInputElement>('[data-page-search]');
        if (!search) return;
        event.preventDefault();
        search.focus();
      }
    };
    // Before the control that has the focus, which may stop the event.
    addEventListener('keydown', onKey, true);
    return () => removeEventListener('keydown', onKey, true);
  }, []);
  return (
    <>
      <Frame
        name={store?.name ?? ''}
        groups={SECTIONS.map((group) =>
          group.map(({ titleIn, ...section }) => ({
            ...section,
            label: titleIn(t),
            count: counts[section.path],
          })),
        )}
        accountItems={
          others.length > 0
            ? [
                ...others.map(({ id, name }) => ({
                  id,
                  icon: 'store' as const,
                  label: name,
                  onAction: () => {
                    // The page may show something of this store.
                    navigate('/');
                    chooseStore(id);
                  },
                })),
                '-' as const,
              ]
            : []
        }
        onSignOut={() => void signOut().catch(() => sayFailed(t.errors.connection))}
        onSearch={() => setCommands(true)}
      >
        {children}
      </Frame>
      {has_commands && <Commands onClose={() => setCommands(false)} />}
    </>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
